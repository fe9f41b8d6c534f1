"""Several votes, groups, reviewers' words and standing grants on the approver's screens."""

import re

import pytest
from django.contrib.auth.models import Group

from approvals import ports
from approvals.models import Grant
from approvals.policy import Verdict
from approvals.services.together import Seen, Together, decide_together
from approvals.states import Decision
from forge_project.kernel import clock
from forge_project.ledger.events import fact
from tests.db.admin import QUEUE, answer, page_of, state
from tests.db.approvals import asked_about, facts, page, pending
from tests.people import person

pytestmark = pytest.mark.django_db


def two(**changes):
    return Verdict(**{"decision": Decision.REVIEW, "rule": "two", "version": 1, "reason": "", "votes": 2} | changes)


def shown(client, row):
    return client.get(page_of(row)).content.decode()


def test_the_first_of_two_votes_leaves_it_waiting_for_others(logged_in, ann, robo):
    row = pending(robo, verdict=two())
    client = logged_in(ann)
    assert "votes: 0 of 2" in shown(client, row)
    sent = answer(client, row)
    assert (sent.status_code, state(row)) == (302, ("pending", 2))
    told = shown(client, row)
    for said in ("It needs more people", "votes: 1 of 2", "Approved so far by ann", "You have approved this"):
        assert said in told
    assert "Approve once" not in told
    assert row.ref not in client.get(QUEUE).content.decode()
    bea = logged_in(person("bea", "approvers"))
    assert '<td class="field-votes">1 of 2</td>' in bea.get(QUEUE).content.decode()
    row.refresh_from_db()
    assert (answer(bea, row).status_code, state(row)) == (302, ("approved", 3))
    said = facts()[-1]
    assert said["session"].startswith("jcs1:")
    assert said["address"] == "127.0.0.1"


def test_together_keeps_how_each_voter_proved_it(ann, robo):
    row = pending(robo, verdict=two(), warnings=())
    seen = [Seen(approval_ref=row.ref, version=1, fingerprint=row.fingerprint)]
    asked = Together(
        actor=ann,
        decision="approve",
        seen=seen,
        authenticated_at=clock.now(),
        method="session",
        session="s",
        address="a",
    )
    (one,) = decide_together(asked)
    assert one.row.state == "pending"
    assert (facts()[-1]["session"], facts()[-1]["address"]) == ("s", "a")


def test_another_groups_question_has_no_form(logged_in, ann, robo):
    Group.objects.create(name="seniors")
    row = pending(robo, verdict=two(votes=1, approvers="seniors"))
    told = shown(logged_in(ann), row)
    assert "wants the group seniors" in told
    assert "Approve once" not in told
    assert (answer(logged_in(ann), row).status_code, state(row)) == (403, ("pending", 1))


def test_a_reviewers_words_are_marked_as_a_models(logged_in, ann, robo):
    row = pending(robo)
    said = {"reviewer": "gate", "stage": "fast", "model": "m-1", "said": "ALLOW", "decision": "ESCALATE",
            "reason": "looks \u202efine", "whole": False}  # fmt: skip
    with page("exec-1", robo) as held:
        held.add(fact("policy.reviewed", call_id=row.call_id, **said))
        held.add(fact("policy.reviewed", call_id="other", **said | {"reason": "of another call"}))
    told = shown(logged_in(ann), row)
    assert "A model says (reviewer <code>gate</code>" in told
    for part in ("ALLOW, counted as ESCALATE", "looks \\u{202E}fine", "only a part of the request"):
        assert part in told
    assert "of another call" not in told


class Subject:
    """Conditions hold for it, or not."""

    def __init__(self, holds):
        self.holds = holds

    def look(self, conditions):
        pass

    def said(self, condition):
        return self.holds


def similar(client, row, **changes):
    sent = {"version": row.version, "fingerprint": row.fingerprint, "condition": 'input.path == "a.txt"', "uses": "3",
            "lasts": "1h"}  # fmt: skip
    return client.post(f"{QUEUE}{row.ref}/similar/", sent | changes)


@pytest.mark.parametrize(("changes", "status"), [
    ({"uses": "0"}, 400), ({"uses": "51"}, 400), ({"uses": "x"}, 400), ({"lasts": "ever"}, 400),
    ({"condition": ""}, 400),
    ({"condition": "1 +"}, 400), ({"version": "2"}, 409), ({"fingerprint": ""}, 400), ({"grant": "grant_0"}, 400),
    ({"grant": "\0"}, 400),
])  # fmt: skip
def test_what_no_grant_may_say_is_refused(logged_in, ann, asked, monkeypatch, changes, status):
    monkeypatch.setattr(ports, "subject_of", lambda row: Subject(True))
    sent = similar(logged_in(ann), asked, **changes)
    assert (sent.status_code, Grant.objects.count(), state(asked)) == (status, 0, ("pending", 1))
    assert "Nothing was changed by your answer" in sent.content.decode()


def test_who_may_not_decide_grants_nothing(logged_in, owen, olga, ann, robo, asked, monkeypatch):
    monkeypatch.setattr(ports, "subject_of", lambda row: Subject(True))
    for user in (owen, olga):
        assert similar(logged_in(user), asked).status_code == 403
    assert similar(logged_in(ann, csrf=True), asked).status_code == 403
    assert logged_in(ann).get(f"{QUEUE}{asked.ref}/similar/").status_code == 405
    critical = pending(robo, "exec-2", risk="critical")
    assert "Approve this and similar" not in shown(logged_in(ann), critical)
    assert similar(logged_in(ann), critical).status_code == 403
    monkeypatch.setattr(ports, "subject_of", lambda row: Subject(False))
    assert similar(logged_in(ann), asked).status_code == 400
    assert Grant.objects.count() == 0


def test_a_grant_of_two_votes_is_proposed_and_agreed_to(logged_in, ann, robo, monkeypatch):
    monkeypatch.setattr(ports, "subject_of", lambda row: Subject(True))
    row = pending(robo, verdict=two())
    assert "Approve this and similar" in shown(logged_in(ann), row)
    assert similar(logged_in(ann), row).status_code == 302
    grant = Grant.objects.get()
    assert (grant.lives_until, grant.max_uses) == (None, 3)
    bea = logged_in(person("bea", "approvers"))
    asked_about(row, person("cleo", "approvers"))
    unread = bea.post(f"{QUEUE}{row.ref}/similar/", {"grant": grant.ref})
    assert (unread.status_code, state(row)) == (409, ("pending", 1))
    told = shown(bea, row)
    seen = re.search(r'name="shown" value="([^"]+)" form="forge-agree-1"', told)[1]
    assert "Agree to this standing grant" in told
    assert "at most 3 times within 1h" in told
    sent = bea.post(f"{QUEUE}{row.ref}/similar/", {"grant": grant.ref, "shown": seen}, follow=True)
    assert "stands now" in sent.content.decode()
    grant.refresh_from_db()
    assert grant.lives_until is not None
