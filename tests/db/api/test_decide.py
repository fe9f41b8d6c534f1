"""POST approvals/<ref>/decide/ and …/revoke/"""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from knox.models import AuthToken
from rest_framework.test import APIClient

from approvals.models import Approval
from approvals.selectors import as_json
from forge_project.kernel import clock
from tests.db.api import BASE, client_of, get, post, refused
from tests.db.approvals import pending
from tests.db.executions import run_all
from tests.people import PASSWORD, person

pytestmark = pytest.mark.django_db(transaction=True)


def decide(client, seen, decision="approve", **changes):
    body = {"decision": decision, "version": seen["version"], "fingerprint": seen["fingerprint"]} | changes
    return client.post(f"{BASE}/approvals/{seen['approval_ref']}/decide/", body, format="json")


def revoke(client, ref, **body):
    return client.post(f"{BASE}/approvals/{ref}/revoke/", body, format="json")


@pytest.fixture
def seen(ann, asked):
    """What the approver was shown."""
    return get(ann, f"/approvals/{asked.ref}/").json()


def test_approved_as_seen_is_applied_once(api, ann, seen, folder, runtime):
    answer = decide(ann, seen, reason="looks right")
    told = answer.json()
    assert (answer.status_code, told["state"], told["decided_by"]) == (200, "approved", "ann")
    run_all(runtime)
    assert (folder / "a.txt").read_text() == "new"
    record = get(api, f"/executions/{seen['execution_ref']}/").json()
    assert (record["status"], record["side_effect"], record["decision_path"]) == ("succeeded", "applied", "human")
    assert record["approval_ref"] == seen["approval_ref"]
    assert get(ann, f"/approvals/{seen['approval_ref']}/").json()["state"] == "consumed"


def test_denied_goes_back_with_its_reason(api, ann, seen, folder, runtime):
    assert decide(ann, seen, "deny", reason="not on a Friday").json()["state"] == "denied"
    run_all(runtime)
    error = get(api, f"/executions/{seen['execution_ref']}/").json()["error"]
    assert error["code"] == "APPROVAL_DENIED"
    assert "not on a Friday" in error["message"]


def test_the_second_is_told_who_was_first(ann, seen):
    decide(ann, seen, "deny", reason="no")
    bob = client_of(person("bob", "approvers"))
    facts = refused(decide(bob, seen), 409, "STATE_CONFLICT")
    assert (facts["decided_by"], facts["state"], facts["reason"], facts["version"]) == ("ann", "denied", "no", 2)


@pytest.mark.parametrize("change", [{"version": 2}, {"version": 2**31 - 1}, {"fingerprint": "other"}])
def test_what_was_not_seen_is_not_approved(ann, seen, change):
    facts = refused(decide(ann, seen, **change), 409, "STATE_CONFLICT")
    assert (facts["state"], facts["version"], facts["decided_by"]) == ("pending", 1, None)


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "yes"}, {"decision": None}, {"version": 0}, {"version": True}, {"version": "1"},
        {"version": 2**31}, {"fingerprint": ""}, {"fingerprint": 1}, {"fingerprint": "a\0"}, {"reason": "x" * 2001},
        {"reason": 1}, {"extra": 1}, {"decision": "deny"}, {"decision": "deny", "reason": "  "},
    ],
)  # fmt: skip
def test_a_bad_body_is_400(ann, seen, change):
    refused(decide(ann, seen, **change), 400, "INVALID_REQUEST")
    assert Approval.objects.get().state == "pending"


@pytest.mark.parametrize("missing", ["decision", "version", "fingerprint"])
def test_a_missing_field_is_named(ann, seen, missing):
    body = {"decision": "approve", "version": 1, "fingerprint": seen["fingerprint"]}
    del body[missing]
    answer = ann.post(f"{BASE}/approvals/{seen['approval_ref']}/decide/", body, format="json")
    assert refused(answer, 400, "INVALID_REQUEST")["path"] == f"/{missing}"


def test_an_agent_decides_nothing(api, other, seen):
    assert refused(decide(api, seen), 403, "SCOPE_DENIED")["rule"] == "approval.agent"
    refused(decide(other, seen), 404, "NOT_FOUND")
    refused(revoke(api, seen["approval_ref"], reason="x"), 403, "SCOPE_DENIED")


def test_nobody_decides_their_own(seen):
    owner = User.objects.get(username="owen")
    owner.groups.set(User.objects.get(username="ann").groups.all())
    assert refused(decide(client_of(owner), seen), 403, "SCOPE_DENIED")["rule"] == "approval.self"


def test_an_operator_decides_nothing(operator, seen):
    assert refused(decide(operator, seen), 403, "SCOPE_DENIED")["rule"] == "approval.permission"


def test_a_token_decides_only_where_that_is_allowed(ann, seen, settings):
    settings.FORGE_API_DECISIONS = False
    assert refused(decide(ann, seen), 403, "SCOPE_DENIED")["rule"] == "approval.token"


def test_an_old_token_does_not_decide(ann, seen):
    AuthToken.objects.filter(user__username="ann").update(created=clock.now() - timedelta(hours=13))
    assert refused(decide(ann, seen), 403, "SCOPE_DENIED")["rule"] == "approval.stale_login"


@pytest.fixture
def browser(approver):
    """The approver, logged in as in a browser, with its CSRF token sent along."""
    client = APIClient(enforce_csrf_checks=True)
    assert client.login(username="ann", password=PASSWORD)
    client.cookies["csrftoken"] = "a" * 32
    client.credentials(HTTP_X_CSRFTOKEN="a" * 32)
    return client


def test_a_session_decides(browser, seen, settings):
    settings.FORGE_API_DECISIONS = False
    assert decide(browser, seen).json()["state"] == "approved"
    assert Approval.objects.get().authentication == "session"


def test_a_session_without_csrf_does_not(browser, seen):
    browser.credentials()
    refused(decide(browser, seen), 403, "SCOPE_DENIED")


@pytest.mark.parametrize("at", [None, timedelta(hours=13)])
def test_an_old_log_in_does_not(browser, seen, at):
    User.objects.filter(username="ann").update(last_login=at and clock.now() - at)
    assert refused(decide(browser, seen), 403, "SCOPE_DENIED")["rule"] == "approval.stale_login"


def test_revoked_before_use_is_never_applied(api, ann, seen, folder, runtime):
    decide(ann, seen)
    told = revoke(ann, seen["approval_ref"], reason="second thoughts").json()
    assert (told["state"], told["reason"]) == ("revoked", "second thoughts")
    run_all(runtime)
    assert get(api, f"/executions/{seen['execution_ref']}/").json()["status"] == "failed"
    assert not (folder / "a.txt").exists()


def test_used_is_not_revoked(ann, seen, runtime):
    decide(ann, seen)
    run_all(runtime)
    assert refused(revoke(ann, seen["approval_ref"], reason="late"), 409, "STATE_CONFLICT")["state"] == "consumed"


@pytest.mark.parametrize("body", [{}, {"reason": ""}, {"reason": " "}, {"reason": 1}, {"reason": "x", "y": 1}])
def test_a_bad_revocation_is_400(ann, seen, body):
    refused(revoke(ann, seen["approval_ref"], **body), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("verb", ["decide", "revoke"])
def test_no_such_approval(ann, verb):
    body = {"reason": "x"} if verb == "revoke" else {"decision": "approve", "version": 1, "fingerprint": "x"}
    refused(post(ann, body, path=f"/approvals/appr_{'0' * 32}/{verb}/"), 404, "NOT_FOUND")


class TestCritical:
    """By a session with one's own password and the target typed; never by token."""

    @pytest.fixture
    def critical(self, approver, caller):
        return as_json(pending(caller, risk="critical")) | {"by": approver}

    def send(self, client, row, **changes):
        sent = {"password": PASSWORD, "typed_target": row["target"]} | changes
        return decide(client, row, **sent)

    def test_a_token_never(self, ann, critical):
        assert refused(self.send(ann, critical), 403, "SCOPE_DENIED")["rule"] == "approval.token"

    @pytest.mark.parametrize(
        ("changes", "rule"),
        [
            ({"password": "wrong"}, "approval.password"),
            ({"typed_target": "b.txt"}, "approval.typed_target"),
        ],
    )
    def test_a_session_with_password_and_target(self, critical, changes, rule):
        client = APIClient()
        client.force_login(critical["by"])
        assert refused(self.send(client, critical, **changes), 403, "SCOPE_DENIED")["rule"] == rule
        told = self.send(client, critical).json()
        assert (told["state"], told["decided_by"]) == ("approved", "ann")
