"""Too many wrong passwords, wherever a person types one: refused with the time to wait, and nobody learns a name."""

import re
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from approvals.selectors import as_json
from tests.db.admin import answer, page_of, state
from tests.db.approvals import pending
from tests.db.commands import run
from tests.people import PASSWORD

pytestmark = pytest.mark.django_db
LOG_IN, CHANGE = "/admin/login/", "/admin/password_change/"


def log_in(name, given="wrong", client=None):
    return (client or Client()).post(LOG_IN, {"username": name, "password": given})


def use_up(name):
    for _ in range(5):
        assert log_in(name).status_code == 200


def told(answer):
    assert answer.status_code == 429
    assert 1 <= int(answer["Retry-After"]) <= 300
    return answer.content.decode()


def test_the_log_in_says_how_long_to_wait(ann):
    use_up("ann")
    client = Client()
    assert re.search(r"Too many wrong passwords: try again in \d+ seconds\.", told(log_in("ann", PASSWORD, client)))
    assert "_auth_user_id" not in client.session
    assert log_in("ann", client=client).status_code == 429


def test_a_name_that_is_not_there_is_answered_alike(ann):
    def seen(name):
        pages = [log_in(name) for _ in range(7)]
        return [
            (page.status_code, re.sub(rf'value="\w+"|{name}|\d+ seconds', "", page.content.decode())) for page in pages
        ]

    assert seen("ann") == seen("zoe")


def test_those_who_know_their_password_come_in(ann):
    for _ in range(4):
        log_in("ann")
    assert log_in("ann", PASSWORD).status_code == 302


def test_a_critical_decision_within_a_session(logged_in, ann, robo):
    row, client = pending(robo, risk="critical", target="a.txt"), logged_in(ann)
    sent = {"typed": "a.txt"}
    for _ in range(5):
        assert "not your password" in answer(client, row, **sent, password="x").content.decode()
    for password in ("x", PASSWORD):
        assert "Too many wrong passwords" in told(answer(client, row, **sent, password=password))
    assert state(row) == ("pending", 1)
    told(log_in("ann", PASSWORD))  # one count for all places
    assert client.get(page_of(row)).status_code == 200


def test_over_http(ann, robo):
    row, client = pending(robo, risk="critical", target="a.txt"), APIClient()
    client.force_login(ann)
    use_up("ann")
    sent = {"decision": "approve", "version": 1, "fingerprint": row.fingerprint, "typed_target": "a.txt"}
    url = f"/api/v1/approvals/{row.ref}/decide/"
    got = client.post(url, sent | {"password": PASSWORD}, format="json")
    assert (got.status_code, got.json()["facts"]["rule"]) == (
        429, "password.locked",
    )  # fmt: skip
    assert int(got["Retry-After"]) == got.json()["facts"]["retry_after"] > 0
    assert as_json(row)["state"] == state(row)[0] == "pending"


def test_ones_own_new_password_wants_the_old_one(logged_in, ann):
    client, new = logged_in(ann), {"new_password1": "quite another password", "new_password2": "quite another password"}
    for _ in range(5):
        assert (
            "old password was entered incorrectly" in client.post(CHANGE, new | {"old_password": "x"}).content.decode()
        )
    assert "Too many wrong passwords" in told(client.post(CHANGE, new | {"old_password": PASSWORD}))
    assert User.objects.get(pk=ann.pk).check_password(PASSWORD)


def test_ones_own_new_password_is_taken(logged_in, ann):
    new = {"new_password1": "quite another password", "new_password2": "quite another password"}
    client = logged_in(ann)
    assert "Old password" in client.get(CHANGE).content.decode()
    done = client.post(CHANGE, new | {"old_password": PASSWORD})
    assert (done.status_code, done["Location"]) == (302, "/admin/password_change/done/")
    assert User.objects.get(pk=ann.pk).check_password("quite another password")
    assert client.get(CHANGE).status_code == 200  # still logged in


@pytest.mark.parametrize("command", [("approvals", "list", "--user", "ann"), ("person", "token", "ann")])
def test_at_the_terminal(ann, monkeypatch, command):
    for _ in range(5):
        monkeypatch.setattr("sys.stdin", StringIO("wrong\n"))
        assert run(*command)[0] == 2
    monkeypatch.setattr("sys.stdin", StringIO(f"{PASSWORD}\n"))
    code, said = run(*command)
    assert (code, "too many wrong passwords: try again in" in said) == (1, True)
