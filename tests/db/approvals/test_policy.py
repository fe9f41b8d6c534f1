import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from approvals.conditions import Subject
from approvals.errors import Unasked
from approvals.models import PolicyRule
from approvals.policy import Question, asked_outside, foresee, judge
from approvals.services import RetireRule, SaveRule, retire_rule, save_rule
from approvals.services.rule_checks import doubts
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger import selectors as ledger
from forge_project.ledger.governance import GOVERNANCE
from tests import environment
from tests.db.approvals import at_once, pending

pytestmark = pytest.mark.django_db


def verdict(capability="file.write", effect="write", network=False, caller="robot"):
    asked = Question(caller=caller, workspace="w", capability=capability, effect=effect, network=network)
    found = judge(asked)
    return f"{found.decision} {found.rule} {found.version}"


def save(author, name, decision, capability="*", **rest):
    return save_rule(SaveRule(name=name, decision=decision, capability=capability, author=author, **rest))


@pytest.mark.parametrize("effect", ["read", "write", "process", "external", "internal"])
@pytest.mark.parametrize("network", [False, True])
def test_the_default_lets_local_reads_and_internal_calls_pass(effect, network):
    free = effect in ("internal", "read") and not network
    assert verdict(effect=effect, network=network) == f"{'ALLOW' if free else 'REVIEW'} default 1"


def test_the_first_by_priority_then_name_wins(ada, robot):
    save(ada, "b", "ALLOW", priority=10)
    save(ada, "a", "REVIEW", priority=10)
    save(ada, "z", "DENY", priority=11)
    assert verdict() == "REVIEW a 1"
    save(ada, "mine", "DENY", priority=-1, caller="robot")
    assert (verdict(), verdict(caller="other")) == ("DENY mine 1", "REVIEW a 1")


@pytest.mark.parametrize(
    ("glob", "hits", "misses"),
    [("git.*", "git.push", "gitx.push"), ("file.write", "file.write", "File.write"), ("file.[rw]*", "file.read", "x")],
)
def test_globs_mind_the_case(ada, glob, hits, misses):
    save(ada, "rule", "DENY", glob)
    assert verdict(hits) == "DENY rule 1"
    assert verdict(misses) == "REVIEW default 1"


def test_an_edit_is_a_new_version_and_the_same_again_is_not(ada):
    first = save(ada, "rule", "DENY")
    assert save(ada, "rule", "DENY").pk == first.pk
    assert save(ada, "rule", "ALLOW", seen=1).version == 2
    with pytest.raises(Conflict):
        save(ada, "rule", "DENY", seen=1)
    kept = [(rule.version, rule.decision, rule.retired_at is None) for rule in PolicyRule.objects.order_by("version")]
    assert kept == [(1, "DENY", False), (2, "ALLOW", True)]
    retired = retire_rule(RetireRule(name="rule", author=ada))
    assert (retired.version, retired.retired_by, verdict()) == (2, ada, "REVIEW default 1")
    with pytest.raises(Missing):
        retire_rule(RetireRule(name="rule", author=ada))
    assert save(ada, "rule", "DENY").version == 3


def test_a_deny_without_words_denies(ada):
    save(ada, "mute", "DENY", reason="")
    assert verdict() == "DENY mute 1"


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/name", {"name": "default"}),
        ("/name", {"name": "a b"}),
        ("/capability", {"capability": ""}),
        ("/decision", {"decision": "allow"}),
        ("/caller", {"caller": "rbot"}),
        ("/reason", {"reason": "x" * 501}),
    ],
)
def test_faults(ada, path, fault):
    with pytest.raises(Invalid) as refusal:
        save(ada, **{"name": "rule", "decision": "DENY"} | fault)
    assert refusal.value.facts["path"] == path


def test_the_database_edits_no_version(ada):
    rule = save(ada, "rule", "DENY")
    for change in ({"decision": "ALLOW"}, {"priority": 1}, {"retired_at": rule.created_at}):  # retired by nobody
        with pytest.raises(IntegrityError), transaction.atomic():
            PolicyRule.objects.update(**change)
    retire_rule(RetireRule(name="rule", author=ada))
    with pytest.raises(IntegrityError), transaction.atomic():
        PolicyRule.objects.update(retired_at=None, retired_by=None)


@pytest.mark.django_db(transaction=True)
def test_two_edits_at_once_leave_one_live_version(ada):
    for n in range(environment.ROUNDS or 20):
        ended = at_once(*[lambda d=d, n=n: save(ada, f"rule-{n}", d) for d in ("ALLOW", "DENY", "REVIEW")])
        assert all(isinstance(one, PolicyRule | Conflict) for one in ended), ended
        assert PolicyRule.objects.filter(name=f"rule-{n}", retired_at=None).count() == 1


class TestEveryColumn:
    """A rule speaks of a call only where all it names fits."""

    @pytest.fixture
    def asked(self):
        def ask(given=None, target=None, **changes):
            asked = {"caller": "robot", "workspace": "w", "capability": "file.write", "effect": "write",
                     "network": False, "kind": "directory", "isolation": "shared"}  # fmt: skip
            subject = Subject(lambda: given or {}, lambda: target or {})
            return asked_outside(Question(**asked | changes, subject=subject)).decision.value

        return ask

    @pytest.mark.parametrize(
        ("says", "other"),
        [
            ({"workspace": "w"}, {"workspace": "v"}),
            ({"workspace_kind": "directory"}, {"kind": "git"}),
            ({"isolation": "shared"}, {"isolation": "per_execution"}),
            ({"effects": "write,process"}, {"effect": "external"}),
            ({"caller_group": "bots"}, {"caller": "other"}),
            ({"condition": "target.path.startsWith('secrets/')"}, {"target": {"path": "docs/x"}}),
            ({"condition": "input.n > 3"}, {"given": {"n": 3}}),
        ],
    )
    def test_it_matches_and_it_does_not(self, ada, robot, asked, says, other):
        group = Group.objects.create(name="bots")
        robot.groups.add(group)
        User.objects.create_user("other")
        save(ada, "rule", "DENY", **says)
        fits = {"given": {"n": 4}, "target": {"path": "secrets/x"}}
        assert (asked(**fits), asked(**fits | other)) == ("DENY", "REVIEW")

    def test_a_failing_condition_counts_against_the_call(self, ada, asked):
        for decision, then in (("ALLOW", "REVIEW"), ("REVIEW", "REVIEW"), ("DENY", "DENY")):
            save(ada, "rule", decision, condition="input.nothing == 1")
            assert asked() == then

    def test_one_that_can_not_be_asked_counts_against_it_too(self, ada):
        plain = Question(caller="robot", workspace="w", capability="file.write", effect="write", network=False)
        for decision, then in (("ALLOW", "REVIEW"), ("DENY", "DENY")):
            save(ada, "rule", decision, condition="input.n == 1")
            assert judge(plain).decision == then

    def test_inside_a_transaction_nothing_is_evaluated(self, ada):
        subject = Subject(lambda: {"n": 1}, dict)
        question = Question(
            caller="robot", workspace="w", capability="file.write", effect="write", network=False, subject=subject
        )
        save(ada, "one", "DENY", condition="input.n == 2", priority=1)
        save(ada, "two", "DENY", condition="input.n == 1", priority=2)
        with pytest.raises(Unasked) as unasked:
            judge(question)
        unasked.value.ask()
        assert judge(question).rule == "two"
        save(ada, "new", "DENY", condition="input.n < 2", priority=0)
        with pytest.raises(Unasked):
            judge(question)
        foresee(question)  # by what was read last
        assert judge(question).rule == "new"

    def test_what_it_asks_of_people_is_in_the_verdict(self, ada, robot):
        Group.objects.create(name="seniors")
        save(ada, "rule", "REVIEW", risk="critical", votes=2, approvers="seniors", ttl_seconds=600)
        asked = Question(caller="robot", workspace="w", capability="file.write", effect="write", network=False)
        row = pending(robot, verdict=judge(asked))
        assert (row.votes_needed, row.approvers) == (2, "seniors")
        assert row.expires_at - row.requested_at == timedelta(seconds=600)
        assert json.loads(row.snapshot) == judge(asked).snapshot()
        assert json.loads(row.snapshot)["risk"] == "critical"


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/caller_group", {"caller_group": "nobody"}),
        ("/caller_group", {"caller": "ada", "caller_group": "bots"}),
        ("/approvers", {"approvers": "nobody"}),
        ("/workspace", {"workspace": "a b"}),
        ("/isolation", {"isolation": "none"}),
        ("/effects", {"effects": "write, read"}),
        ("/effects", {"effects": "write,write"}),
        ("/condition", {"condition": "input.n =="}),
        ("/risk", {"risk": "huge"}),
        ("/votes", {"votes": 0}),
        ("/votes", {"votes": 11}),
        ("/ttl_seconds", {"ttl_seconds": 59}),
        ("/decision", {"votes": 2}),
        ("/decision", {"decision": "ALLOW", "approval_required": True}),
        ("/reviewer_may_allow", {"decision": "REVIEW", "approval_required": True, "reviewer_may_allow": True}),
    ],
)
def test_faults_of_the_rest(ada, path, fault):
    Group.objects.create(name="bots")
    with pytest.raises(Invalid) as refusal:
        save(ada, **{"name": "rule", "decision": "DENY"} | fault)
    assert refusal.value.facts["path"] == path
    assert not PolicyRule.objects.exists()


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ({"capability": "nothing.*"}, "no capability here is called nothing.*"),
        ({"capability": "file.write", "effects": "process"}, "has the effect process"),
        ({"caller": "gone"}, "the account gone is not active"),
        ({"caller_group": "empty"}, "nobody is in the group empty"),
        ({"workspace": "nowhere"}, "there is no workspace nowhere"),
        ({"decision": "REVIEW", "approvers": "empty", "votes": 2}, "2 votes are needed and 0 people"),
        ({"capability": "file.write", "condition": "input.pth == 'x'"}, "has input.pth"),
        ({"condition": "target.pth == 'x'"}, "has target.pth"),
        ({"priority": 900}, "first v1 comes first"),
        ({"capability": "file.write", "condition": "input.path == 'x'"}, None),
    ],
)
def test_what_never_matches_is_warned_of(ada, says, told):
    Group.objects.create(name="empty")
    User.objects.create_user("gone", is_active=False)
    save(ada, "first", "DENY", priority=500)
    found = doubts(save(ada, **{"name": "rule", "decision": "DENY"} | says))
    assert (told is None and found == []) or any(told in one for one in found), found


def test_each_change_is_a_fact_of_governance(ada):
    save(ada, "rule", "DENY", reason="no")
    save(ada, "rule", "DENY", reason="no")  # the same again is no change
    save(ada, "rule", "REVIEW", votes=2)
    retire_rule(RetireRule(name="rule", author=ada))
    told = [ledger.payload(event)["actions"]["forge"] for event in ledger.events(GOVERNANCE)]
    assert [(said["fact"], said["name"], said["version"], said["actor"]) for said in told] == [
        ("rule.added", "rule", 1, "user:ada"),
        ("rule.changed", "rule", 2, "user:ada"),
        ("rule.retired", "rule", 2, "user:ada"),
    ]
    assert told[1]["votes"] == 2


def test_a_change_that_fails_leaves_no_fact(ada, monkeypatch):
    monkeypatch.setattr("approvals.services.rules.record", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save(ada, "rule", "DENY")
    assert not PolicyRule.objects.exists()
