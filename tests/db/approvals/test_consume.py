import pytest

from approvals.errors import ApprovalInvalid, PolicyChanged, PreconditionChanged
from approvals.models import Approval
from approvals.policy import Question, judge
from approvals.services import Revoke, SaveRule, consume, expire_due, retire_rule, revoke, revoke_in, save_rule
from approvals.services.rules import RetireRule
from forge_project.kernel.errors import Conflict, Denied
from tests.db.approvals import answer, facts, page, pending, use

pytestmark = pytest.mark.django_db


def spend(row, **changes):
    with page(row.invocation_id, row.caller) as held:
        return consume(held, use(row, **changes))


def refused(row, **changes):
    with pytest.raises(ApprovalInvalid) as refusal:
        spend(row, **changes)
    return refusal.value.code


def test_it_is_used_once(robot, ada, told):
    row = spend(answer(pending(robot), ada))
    assert (row.state, row.version, row.consumed_at is not None) == ("consumed", 3, True)
    assert (facts()[-1]["fact"], facts()[-1]["shown"]) == ("approval.consumed", row.fingerprint)
    assert refused(row) == "APPROVAL_INVALID"
    with pytest.raises(Conflict):
        revoke(Revoke(approval_ref=row.ref, actor=ada, reason="too late"))
    assert told == [(row.ref, "approved")]


def test_it_comes_back_only_with_the_whole_transaction(robot, ada):
    row = answer(pending(robot), ada)
    with pytest.raises(ZeroDivisionError), page("exec-1", robot) as held:
        consume(held, use(row))
        raise ZeroDivisionError
    spend(row)


@pytest.mark.parametrize(
    "change",
    [
        {"input": {"path": "a.txt", "content": "two"}},
        {"scope": {"caller": "user:robot", "task": "t2"}},
        {"execution_ref": "exec-2"},
        {"call_id": "exec-1:forge:2"},
        {"capability": "patch.apply"},
        {"approval_ref": "appr_0"},
    ],
)
def test_it_is_for_that_call_only(robot, ada, change):
    row = answer(pending(robot), ada)
    assert refused(row, **change) == "APPROVAL_INVALID"
    row.refresh_from_db()
    assert row.state == "approved"


def test_another_invocation_can_not_use_it(robot, ada):
    row = answer(pending(robot), ada)
    with pytest.raises(ApprovalInvalid), page("exec-1~2", robot) as held:
        consume(held, use(row))


def test_a_changed_world_is_asked_about_again_in_the_same_transaction(robot, ada):
    from approvals.services import ask
    from tests.db.approvals import question

    row = answer(pending(robot), ada)
    with page("exec-1", robot) as held:
        with pytest.raises(PreconditionChanged) as refusal:
            consume(held, use(row, precondition={"sha256": "00"}))
        again = ask(held, question(robot, precondition={"sha256": "00"}))
    row.refresh_from_db()
    assert (refusal.value.code, row.state, again.supersedes) == ("PRECONDITION_FAILED", "revoked", row.ref)
    spend(answer(again, ada), precondition={"sha256": "00"})


def test_what_is_not_approved_says_why(robot, ada, turn):
    asked = pending(robot, "exec-1")
    assert refused(asked) == "APPROVAL_REQUIRED"
    assert refused(answer(asked, ada, "deny")) == "APPROVAL_DENIED"
    taken = revoke(Revoke(approval_ref=pending(robot, "exec-2").ref, actor=ada, reason="no"))
    assert refused(taken) == "APPROVAL_DENIED"
    closed = pending(robot, "exec-3")
    with page("exec-3", robot) as held:
        revoke_in(held, closed.ref, "cancelled")
    assert refused(closed) == "APPROVAL_INVALID"
    late = answer(pending(robot, "exec-4"), ada)
    turn(minutes=15)
    assert refused(late) == "APPROVAL_EXPIRED"  # before the sweep
    expire_due()
    assert refused(late) == "APPROVAL_EXPIRED"  # and after it
    waited = pending(robot, "exec-5")
    turn(hours=24)
    assert refused(waited) == "APPROVAL_EXPIRED"


class TestPolicyAtTheBoundary:
    @pytest.fixture
    def rule(self, ada):
        def save(decision, name="writes", capability="file.write", priority=50):
            given = {"name": name, "capability": capability, "decision": decision, "priority": priority}
            return save_rule(SaveRule(author=ada, **given))

        return save

    @pytest.fixture
    def approved(self, robot, ada, rule):
        rule("REVIEW")
        asked = Question(caller="robot", workspace="", capability="file.write", effect="write", network=False)
        return answer(pending(robot, verdict=judge(asked)), ada)

    def test_the_same_rule_lets_it_through(self, approved):
        assert spend(approved).state == "consumed"

    def test_unrelated_rules_do_not_count(self, approved, rule):
        rule("DENY", "pushes", "git.push", 1)
        rule("DENY", "later", "file.*", 90)
        assert spend(approved).state == "consumed"

    def test_milder_is_fine(self, approved, rule):
        rule("ALLOW")
        assert spend(approved).state == "consumed"

    def test_a_new_version_is_another_question(self, approved, rule, ada):
        save_rule(SaveRule(name="writes", capability="file.writ?", decision="REVIEW", author=ada, priority=50))
        with pytest.raises(PolicyChanged):
            spend(approved)

    def test_so_is_another_rule_and_the_default(self, approved, rule, ada):
        retire_rule(RetireRule(name="writes", author=ada))
        with pytest.raises(PolicyChanged):
            spend(approved)
        rule("REVIEW", "all", "*", 1)
        with pytest.raises(PolicyChanged):
            spend(approved)
        assert Approval.objects.get().state == "approved"

    def test_a_deny_is_final(self, approved, rule):
        rule("DENY", "never", "*", 1)
        with pytest.raises(Denied) as refusal:
            spend(approved)
        assert (refusal.value.code, refusal.value.facts["rule"]) == ("POLICY_DENIED", "never")
