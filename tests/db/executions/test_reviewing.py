"""Reviewers in the machine: what their yes and no do, what it is tied to, and what the ledger keeps."""

import pytest
from django.db import transaction

from approvals.models import Approval
from approvals.reviewers import review
from approvals.services.reviewer_settings import record_reviewers
from approvals.services.rules import SaveRule, save_rule
from executions.models import Execution
from forge_project.ledger import selectors
from forge_project.ledger.governance import GOVERNANCE
from tests.db.executions import answer, run_all, send
from tests.reviewer import CASE, endpoint, verdict

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture(autouse=True)
def _settings(settings):
    settings.FORGE_LINGER_MS = 0
    settings.FORGE_REVIEWERS = ["approvals.reviewers.http_model.FastModelReviewer"]
    settings.FORGE_REVIEWER_FAST_MODEL, settings.FORGE_REVIEWER_SECONDS = "quick", 5


@pytest.fixture
def asked(caller, workspace, folder, runtime, settings):
    """A file.write of `a` run to where it stands, with an endpoint that answers so: (execution, bodies)."""
    (folder / "a").write_text("old")

    def ask(reply, content="new", **sent):
        with endpoint(reply) as (url, bodies):
            settings.FORGE_REVIEWER_URL = url
            given = {"path": "a", "content": content}
            made = send(caller, capability="file.write", input=given, workspace="ws", **sent)
            run_all(runtime)
        return Execution.objects.get(pk=made.ref), bodies

    return ask


def reviewed(execution):
    said = [selectors.payload(event)["actions"].get("forge", {}) for event in selectors.events(execution.ref)]
    return [one for one in said if one.get("fact") == "policy.reviewed"]


def test_a_yes_spares_the_person(asked, folder):
    done, _ = asked(lambda sent: verdict("ALLOW", "harmless"))
    assert (done.status, done.decision_path, (folder / "a").read_text()) == ("succeeded", "fast", "new")
    assert not Approval.objects.exists()
    (said,) = reviewed(done)
    assert {name: said[name] for name in ("stage", "said", "decision", "reason", "model", "whole")} == {
        "stage": "fast", "said": "ALLOW", "decision": "ALLOW", "reason": "harmless", "model": "m-1", "whole": True,
    }  # fmt: skip
    assert said["brief"].startswith("jcs1:hmac-sha256:")
    assert [event.kind for event in selectors.events(done.ref)].index("policy.reviewed") < [
        event.kind for event in selectors.events(done.ref)
    ].index("tool_dispatch")


def test_a_no_ends_it_and_no_person_sees_it(asked, folder):
    done, _ = asked(lambda sent: verdict("DENY", "it breaks the build"))
    assert (done.status, done.error_code, (folder / "a").read_text()) == ("failed", "POLICY_DENIED", "old")
    assert done.error_details["reason"] == "it breaks the build"
    assert not Approval.objects.exists()


@pytest.mark.parametrize("reply", [verdict("ESCALATE"), (500, b""), "drop", {"choices": []}])
def test_all_else_is_a_persons(asked, folder, runtime, approver, reply):
    waits, _ = asked(lambda sent: reply)
    assert (waits.status, (folder / "a").read_text(), len(reviewed(waits))) == ("waiting_approval", "old", 1)
    answer(Approval.objects.get(), approver)
    run_all(runtime)
    done = Execution.objects.get()
    assert (done.status, done.decision_path, (folder / "a").read_text()) == ("succeeded", "human", "new")
    assert len(reviewed(done)) == 1


@pytest.mark.parametrize(
    "says", [{"reviewer_may_allow": False}, {"reviewer_may_allow": False, "approval_required": True}]
)
def test_a_yes_counts_only_where_the_rule_says_so(asked, folder, approver, says):
    save_rule(SaveRule(name="look", priority=1, capability="file.*", decision="REVIEW", author=approver, **says))
    waits, _ = asked(lambda sent: verdict("ALLOW"))
    assert (waits.status, (folder / "a").read_text()) == ("waiting_approval", "old")
    assert [(one["said"], one["decision"]) for one in reviewed(waits)] == [("ALLOW", "ESCALATE")]


def test_a_yes_is_to_the_world_as_it_was(asked, folder):
    def reply(sent):
        (folder / "a").write_text("changed meanwhile")
        return verdict("ALLOW")

    waits, bodies = asked(reply)
    assert (waits.status, (folder / "a").read_text()) == ("waiting_approval", "changed meanwhile")
    assert len(bodies) == 1  # a person now, not the same reviewer again


@pytest.mark.parametrize("decision", ["REVIEW", "DENY"])
def test_a_yes_is_to_the_policy_as_it_was(asked, folder, approver, decision):
    def reply(sent):
        save_rule(SaveRule(name="new", priority=1, capability="file.*", decision=decision, author=approver))
        return verdict("ALLOW")

    stands, _ = asked(reply)
    assert (folder / "a").read_text() == "old"
    assert (stands.status, stands.error_code) == (
        ("waiting_approval", "") if decision == "REVIEW" else ("failed", "POLICY_DENIED")
    )


def test_a_secret_reaches_no_reviewer_and_what_is_masked_a_person(asked):
    waits, bodies = asked(lambda sent: verdict("ALLOW"), content=f"key = {SECRET}\n")
    assert (waits.status, SECRET in str(bodies)) == ("waiting_approval", False)


def test_a_reviewer_is_never_asked_inside_a_transaction():
    with transaction.atomic(), pytest.raises(AssertionError):
        review(CASE)


def test_without_reviewers_the_fallback_decides(asked, settings, folder):
    settings.FORGE_REVIEWERS = []
    settings.FORGE_REVIEW_FALLBACK = "refuse"
    done, bodies = asked(lambda sent: verdict("ALLOW"))
    assert (done.status, done.error_code, bodies) == ("failed", "DECISION_UNRESOLVED", [])
    assert not Approval.objects.exists()


def test_where_a_person_is_required_the_fallback_is_none(asked, settings, approver):
    says = {"name": "look", "capability": "file.*", "decision": "REVIEW", "approval_required": True}
    save_rule(SaveRule(author=approver, priority=1, **says))
    settings.FORGE_REVIEWERS = []
    settings.FORGE_REVIEW_FALLBACK = "refuse"
    assert asked(lambda sent: verdict("ALLOW"))[0].status == "waiting_approval"


def test_who_reviews_is_a_fact_of_governance(settings):
    settings.FORGE_REVIEWER_KEY = "not-for-the-ledger"
    assert (record_reviewers(), record_reviewers()) == (True, False)
    settings.FORGE_REVIEWERS = []
    assert record_reviewers()
    said = [selectors.payload(event) for event in selectors.events(GOVERNANCE)]
    assert [len(one["actions"]["forge"]["says"]["reviewers"]) for one in said] == [1, 0]
    assert "not-for-the-ledger" not in str(said)


def test_no_reviewer_from_the_start_is_no_fact(settings):
    settings.FORGE_REVIEWERS = []
    assert not record_reviewers()
