"""Holds in the admin: operators place and release them, nobody edits one."""

import pytest

from executions.bounds import Hold
from forge_project.ledger.governance import GOVERNANCE
from forge_project.ledger.selectors import events

pytestmark = pytest.mark.django_db
HOLDS = "/admin/executions/hold/"
ALL = {"kind": "everything", "target": "", "reason": "incident 7"}


@pytest.fixture
def who(logged_in, olga):
    return logged_in(olga)


def release(client, row):
    return client.post(HOLDS, {"action": "release_selected", "_selected_action": [row.pk]}, follow=True)


def test_an_operator_places_one_and_releases_it(who):
    assert who.post(f"{HOLDS}add/", ALL)["Location"] == HOLDS
    row = Hold.objects.get()
    assert (row.kind, row.reason, row.placed_by, row.released_at) == ("everything", "incident 7", "user:olga", None)
    assert "incident 7" in who.get(HOLDS).content.decode()
    assert "everything is released" in release(who, row).content.decode()
    row.refresh_from_db()
    assert row.released_by == "user:olga"
    kinds = [event.kind for event in events(GOVERNANCE)]
    assert kinds == ["session.opened", "hold.placed", "hold.released"]


def test_what_the_service_refuses_is_a_message(who):
    answer = who.post(f"{HOLDS}add/", ALL | {"kind": "caller", "target": "nobody"}, follow=True)
    assert "no such caller: nobody" in answer.content.decode()
    assert not Hold.objects.exists()


def test_nobody_edits_or_deletes_one(who):
    who.post(f"{HOLDS}add/", ALL)
    row = Hold.objects.get()
    assert who.post(f"{HOLDS}{row.pk}/change/", ALL | {"reason": "other"}).status_code == 403
    assert who.post(f"{HOLDS}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert "_save" not in who.get(f"{HOLDS}{row.pk}/change/").content.decode()


def test_auditors_see_them_and_approvers_do_not(logged_in, aude, ann, who):
    who.post(f"{HOLDS}add/", ALL)
    auditor = logged_in(aude)
    assert "incident 7" in auditor.get(HOLDS).content.decode()
    assert auditor.post(f"{HOLDS}add/", ALL).status_code == 403
    release(auditor, Hold.objects.get())
    assert Hold.objects.get().released_at is None
    assert logged_in(ann).get(HOLDS).status_code == 403
