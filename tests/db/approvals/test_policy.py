import pytest
from django.db import IntegrityError, transaction

from approvals.models import PolicyRule
from approvals.policy import Question, judge
from approvals.services import RetireRule, SaveRule, retire_rule, save_rule
from forge_project.kernel.errors import Conflict, Invalid, Missing
from tests.db.approvals import at_once

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
    free = effect == "internal" or (effect == "read" and not network)
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
    for n in range(20):
        ended = at_once(*[lambda d=d, n=n: save(ada, f"rule-{n}", d) for d in ("ALLOW", "DENY", "REVIEW")])
        assert all(isinstance(one, PolicyRule | Conflict) for one in ended), ended
        assert PolicyRule.objects.filter(name=f"rule-{n}", retired_at=None).count() == 1
