import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from forge_project.kernel import clock
from tests.db.admin import QUEUE, answer, decide_url, page_of, state
from tests.db.approvals import facts, pending
from tests.people import PASSWORD, person

pytestmark = pytest.mark.django_db


def test_approving_says_what_happened_and_names_the_next(logged_in, ann, robo, asked):
    other = pending(robo, "exec-2")
    client = logged_in(ann)
    sent = answer(client, asked)
    assert (sent.status_code, sent["Location"], state(asked)) == (302, page_of(asked), ("approved", 2))
    shown = client.get(sent["Location"]).content.decode()
    assert "You approved this for one use" in shown
    assert page_of(other) in shown
    assert "Decided by ann" in shown
    said = facts()[-1]
    assert (said["actor"], said["method"], said["shown"]) == ("user:ann", "session", asked.fingerprint)
    assert said["authenticated_at"] == clock.text(User.objects.get(pk=ann.pk).last_login)


def test_denying_tells_the_agent_why(logged_in, ann, asked):
    client = logged_in(ann)
    answer(client, asked, "deny", reason="not\r\nnow")
    asked.refresh_from_db()
    assert (asked.state, asked.reason) == ("denied", "not\nnow")
    assert "Nothing else waits for you" in client.get(page_of(asked)).content.decode()


def test_denying_needs_a_reason(logged_in, ann, asked):
    sent = answer(logged_in(ann), asked, "deny")
    assert (sent.status_code, state(asked)) == (400, ("pending", 1))
    assert "Say why" in sent.content.decode()
    assert 'aria-invalid="true"' in sent.content.decode()


@pytest.mark.parametrize("seen", [{"version": 2}, {"fingerprint": "jcs1:hmac-sha256:00:00"}])
def test_another_version_than_shown_is_a_conflict(logged_in, ann, asked, seen):
    sent = answer(logged_in(ann), asked, reason="typed", **seen)
    assert (sent.status_code, state(asked), len(facts())) == (409, ("pending", 1), 1)
    assert "not what you were shown" in sent.content.decode()
    assert "typed</textarea>" in sent.content.decode()


def test_who_comes_second_is_told_who_was_first(logged_in, ann, robo):
    row = pending(robo)
    answer(logged_in(ann), row, "deny", reason="too wide")
    sent = answer(logged_in(person("bea", "approvers")), row)
    told = sent.content.decode()
    assert (sent.status_code, state(row)) == (409, ("denied", 2))
    assert "Denied by ann at" in told
    assert "too wide" in told
    assert "Approve once" not in told


@pytest.mark.parametrize("fault", [
    {"version": ""}, {"version": "x"}, {"version": "9" * 40}, {"fingerprint": ""}, {"fingerprint": "\0"},
    {"decision": "maybe"}, {"decision": ""}, {"reason": "x" * 2001}, {"reason": "a\0b"},
])  # fmt: skip
def test_what_no_form_sends_is_refused(logged_in, ann, asked, fault):
    sent = answer(logged_in(ann), asked, **fault)
    assert (sent.status_code, state(asked)) == (400, ("pending", 1))


def test_nobody_decides_their_own(logged_in, owen, ann, robo, asked):
    named = pending(robo, "exec-2", on_behalf_of=ann)
    for who, row in ((owen, asked), (ann, named)):
        client = logged_in(who)
        assert "another person must decide" in client.get(page_of(row)).content.decode()
        assert "Approve once" not in client.get(page_of(row)).content.decode()
        assert row.ref not in client.get(QUEUE).content.decode()
        sent = answer(client, row)
        assert (sent.status_code, state(row)) == (403, ("pending", 1))
        assert "Nobody decides their own" in sent.content.decode()


def test_an_old_log_in_decides_nothing(logged_in, ann, asked):
    client = logged_in(ann)
    User.objects.filter(pk=ann.pk).update(last_login=clock.now() - timedelta(hours=13))
    sent = answer(client, asked)
    assert (sent.status_code, state(asked)) == (403, ("pending", 1))
    assert "Log out, to log in again" in sent.content.decode()


def test_critical_risk_asks_for_the_target_and_the_password(logged_in, ann, robo):
    row, client = pending(robo, risk="critical", target="a\u202eb"), logged_in(ann)
    assert "type <code>a\\u{202E}b</code>" in client.get(page_of(row)).content.decode()
    typed, password = {"typed": "a\\u{202E}b"}, {"password": PASSWORD}
    for sent, said in (
        ({}, "Type the target"), (password, "Type the target"), (typed, "not your password"),
        (password | {"typed": "a\u202eb"}, "Type the target"), (typed | {"password": "x"}, "not your password"),
    ):  # fmt: skip
        refused = answer(client, row, **sent)
        assert refused.status_code in (400, 403)
        assert said in refused.content.decode()
    refused = answer(client, row, "deny", reason="no")
    assert (refused.status_code, state(row)) == (403, ("pending", 1))
    assert PASSWORD not in answer(client, row, **password).content.decode()
    assert (answer(client, row, **typed, **password).status_code, state(row)) == (302, ("approved", 2))
    assert facts()[-1]["method"] == "password"
    other = pending(robo, "exec-2", risk="critical")
    assert (answer(client, other, "deny", reason="no", **password).status_code, state(other)) == (302, ("denied", 2))


@pytest.mark.parametrize("role", ["operator", "auditor"])
def test_who_may_not_decide_is_refused(logged_in, everyone, asked, role):
    client = logged_in(everyone[role])
    assert "Approve once" not in client.get(page_of(asked)).content.decode()
    assert (answer(client, asked).status_code, state(asked)) == (403, ("pending", 1))


def test_agents_and_strangers_get_no_further_than_the_log_in(logged_in, staffed_agent, client, asked):
    for who in (client, logged_in(staffed_agent)):
        sent = answer(who, asked)
        assert (sent.status_code, sent["Location"].split("?")[0], state(asked)) == (
            302,
            "/admin/login/",
            ("pending", 1),
        )


@pytest.mark.parametrize("method", ["get", "head", "options", "put", "patch", "delete"])
def test_only_a_post_decides(logged_in, ann, asked, method):
    sent = getattr(logged_in(ann), method)(
        decide_url(asked) + f"?decision=approve&version=1&fingerprint={asked.fingerprint}"
    )
    assert (sent.status_code, sent["Allow"], state(asked)) == (405, "POST", ("pending", 1))


def test_the_page_itself_takes_no_post(logged_in, ann, asked):
    for url in (page_of(asked), "/admin/approvals/approval/add/", f"/admin/approvals/approval/{asked.ref}/delete/"):
        assert logged_in(ann).post(url, {"decision": "approve"}).status_code in (403, 405)
    assert state(asked) == ("pending", 1)


def test_a_post_without_csrf_token_decides_nothing(logged_in, ann, asked):
    client = logged_in(ann, csrf=True)
    assert (answer(client, asked).status_code, state(asked)) == (403, ("pending", 1))
    token = re.search(
        r'action="[^"]+/decide/".*?csrfmiddlewaretoken" value="(\w+)"', client.get(page_of(asked)).content.decode()
    )
    assert (answer(client, asked, csrfmiddlewaretoken=token[1]).status_code, state(asked)) == (302, ("approved", 2))


@pytest.mark.parametrize("ref", ["appr_0", "%00", "appr_%00", "x" * 500])
def test_what_is_not_there_is_not_found(logged_in, ann, ref):
    client = logged_in(ann)
    for url in (f"{QUEUE}{ref}/decide/", f"{QUEUE}{ref}/change/"):
        assert client.post(url).status_code in (404, 405)
    assert client.get(f"{QUEUE}{ref}/change/").status_code == 404
