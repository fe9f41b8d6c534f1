import json

import pytest
from django.db import IntegrityError, transaction

from approvals.models import Approval
from approvals.policy import Verdict
from approvals.states import Decision
from forge_project.kernel.errors import Denied, TooMany
from tests.db.approvals import REVIEW, answer, at_once, facts, pending

pytestmark = pytest.mark.django_db


def test_what_is_shown_is_stored_and_what_is_secret_is_not(robot):
    row = pending(robot, input={"path": "a.txt", "content": "hunter2-hunter2"})
    assert (row.state, row.version, row.caller_ref, row.rule, row.rule_version) == (
        "pending", 1, "user:robot", "default", 1,
    )  # fmt: skip
    assert (row.ref[:5], len(row.ref), json.loads(row.warnings)) == ("appr_", 37, ["new file"])
    assert "hunter2" not in str(vars(row)) + str(facts())
    assert [(said["fact"], said["ref"], said["shown"]) for said in facts()] == [
        ("approval.requested", row.ref, row.fingerprint)
    ]


def test_asking_again_returns_the_same_one(robot):
    row = pending(robot)
    assert pending(robot).ref == row.ref
    assert pending(robot, purpose="in other words").ref == row.ref  # the agent's words are outside the fingerprint
    assert len(facts()) == 1


def test_an_approved_one_is_returned_too(robot, ada):
    row = answer(pending(robot), ada)
    assert pending(robot).ref == row.ref


@pytest.mark.parametrize(
    "change",
    [
        {"input": {"path": "b.txt"}},
        {"scope": {"caller": "user:robot", "task": "t2"}},
        {"precondition": {"sha256": "00"}},
        {"verdict": Verdict(decision=Decision.REVIEW, rule="other", version=1, reason="")},
        {"verdict": Verdict(decision=Decision.REVIEW, rule="default", version=2, reason="")},
        {"sentence": "Write b.txt"},
        {"preview": {"kind": "text", "text": "+two"}},
        {"warnings": ()},
        {"risk": "critical"},
        {"target": "b.txt"},
    ],
)
def test_another_question_supersedes(robot, ada, change):
    old = answer(pending(robot), ada)
    new = pending(robot, **change)
    old.refresh_from_db()
    assert (old.state, old.reason, old.decided_by, new.state, new.supersedes) == (
        "revoked", "superseded", ada, "pending", old.ref,
    )  # fmt: skip
    assert [said["fact"] for said in facts()][-2:] == ["approval.revoked", "approval.requested"]


def test_an_older_fingerprint_key_still_compares(robot, settings):
    from forge_project.kernel.fingerprints import Fingerprints

    settings.FORGE_FINGERPRINTS = Fingerprints(["an older key of 24 chars"])
    row = pending(robot)
    settings.FORGE_FINGERPRINTS = Fingerprints(["a newer key of 24 chars.", "an older key of 24 chars"])
    assert pending(robot).ref == row.ref


def test_the_cap_counts_what_waits(robot, ada, settings):
    settings.FORGE_CALLER_PENDING = 2
    first, _ = pending(robot, "exec-1"), pending(robot, "exec-2")
    with pytest.raises(TooMany) as refusal:
        pending(robot, "exec-3")
    assert refusal.value.facts["limit"] == 2
    pending(robot, "exec-2", sentence="in its own place")
    answer(first, ada)
    pending(robot, "exec-3")


def test_a_deny_is_never_shown_to_a_person(robot):
    with pytest.raises(Denied) as refusal:
        pending(robot, verdict=Verdict(decision=Decision.DENY, rule="never", version=3, reason=""))
    assert (refusal.value.code, refusal.value.facts["rule"]) == ("POLICY_DENIED", "never")
    assert not Approval.objects.exists()


def test_the_database_holds_one_live_one_a_call_and_rewords_nothing(robot, ada):
    row = pending(robot)
    again = {field.attname: getattr(row, field.attname) for field in Approval._meta.concrete_fields} | {"ref": "appr_2"}
    for wrong in (
        lambda: Approval.objects.create(**again),
        lambda: Approval.objects.filter(pk=row.pk).update(sentence="Write nothing"),
        lambda: Approval.objects.filter(pk=row.pk).update(state="lost"),
        lambda: Approval.objects.filter(pk=row.pk).update(state="approved"),  # by nobody
        lambda: Approval.objects.filter(pk=row.pk).update(state="consumed", decided_by=ada),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            wrong()
    answer(row, ada, "deny")
    with pytest.raises(IntegrityError), transaction.atomic():  # what has ended is not moved again
        Approval.objects.filter(pk=row.pk).update(state="pending", decided_by=None, decided_at=None, authentication="")
    assert REVIEW.rule == row.rule


@pytest.mark.django_db(transaction=True)
def test_a_race_can_not_pass_the_cap(robot, settings):
    settings.FORGE_CALLER_PENDING = 3
    ended = at_once(*[lambda n=n: pending(robot, f"exec-{n}") for n in range(8)])
    assert sorted(type(one).__name__ for one in ended) == ["Approval"] * 3 + ["TooMany"] * 5
    assert Approval.objects.count() == 3
