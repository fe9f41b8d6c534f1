"""Which calls pass, which are refused, and which a person must see: the first live rule that matches."""

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from approvals.conditions import Subject
from approvals.errors import Unasked
from approvals.states import Decision, Effect, Risk
from forge_project.kernel import plain
from forge_project.kernel.network.hosts import listed

# Part of every dispatch, and dearer to build by the ORM than to run.
_LIVE_RULES = """SELECT name, version, capability, decision, reason, workspace, workspace_kind, isolation, effects,
    condition, risk, reviewer_may_allow, approval_required, votes, approvers, ttl_seconds FROM approvals_policyrule
    WHERE retired_at IS NULL AND caller IN ('', %s) AND (caller_group = '' OR caller_group IN (
        SELECT g.name FROM auth_group g JOIN auth_user_groups m ON m.group_id = g.id
        JOIN auth_user u ON u.id = m.user_id WHERE u.username = %s)) ORDER BY priority, name"""
DEFAULT = "default"  # no stored rule may have this name
_READING = ("GET", "HEAD")
REVIEWABLE = (Risk.LOW, Risk.MEDIUM)  # what a reviewer may let pass where only the default rule speaks


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a rule may look at. `caller` is a user name; `network`: whether the call reaches out of this host.

    `kind`, `isolation` and `hosts` (its allow-list) are the workspace's.
    """

    caller: str
    workspace: str
    capability: str
    effect: str
    network: bool
    risk: str = Risk.MEDIUM
    kind: str = ""
    isolation: str = ""
    hosts: tuple[str, ...] = ()
    subject: Subject | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision, the rule with its version that made it, and what it asks of reviewers and people."""

    decision: Decision
    rule: str
    version: int
    reason: str
    risk: str = ""  # instead of the capability's own
    reviewer_may_allow: bool = False
    approval_required: bool = False
    votes: int = 1
    approvers: str = ""
    ttl_seconds: int | None = None
    condition: str = ""

    def snapshot(self) -> dict[str, Any]:
        """The rule as it was when it decided, without what it leaves open."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class Rule:
    """One live rule, as the columns of _LIVE_RULES."""

    name: str
    version: int
    capability: str
    decision: str
    reason: str
    workspace: str
    workspace_kind: str
    isolation: str
    effects: str
    condition: str
    risk: str
    reviewer_may_allow: bool
    approval_required: bool
    votes: int
    approvers: str
    ttl_seconds: int | None

    def fits(self, asked: Question) -> bool:
        """Whether it speaks of such calls, its condition aside."""
        return (
            fnmatchcase(asked.capability, self.capability)
            and self.workspace in ("", asked.workspace)
            and self.workspace_kind in ("", asked.kind)
            and self.isolation in ("", asked.isolation)
            and (not self.effects or asked.effect in self.effects.split(","))
        )

    def verdict(self) -> Verdict:
        """What it says."""
        return Verdict(
            decision=Decision(self.decision),
            rule=self.name,
            version=self.version,
            reason=self.reason,
            risk=self.risk,
            reviewer_may_allow=bool(self.reviewer_may_allow),
            approval_required=bool(self.approval_required),
            votes=self.votes,
            approvers=self.approvers,
            ttl_seconds=self.ttl_seconds,
            condition=self.condition,
        )


class Rules:
    """A caller's live rules in order, as they were read."""

    def __init__(self, rules: Iterable[Rule], *, hopeful: bool = False) -> None:
        self._rules, self._hopeful = list(rules), hopeful

    def judge(self, asked: Question) -> Verdict:
        """The verdict of the first that matches, else of the built-in default.

        Raises Unasked (with all that is missing) where a condition was not asked of the question's subject.
        """
        for rule in self._rules:
            if rule.fits(asked) and (not rule.condition or self._holds(rule, asked)):
                return rule.verdict()
        return default(asked)

    def conditions(self, asked: Question) -> list[str]:
        """Every condition that may be looked at to answer `asked`."""
        return [rule.condition for rule in self._rules if rule.condition and rule.fits(asked)]

    def _holds(self, rule: Rule, asked: Question) -> bool:
        """A condition that fails, or that nobody can ask, never lets a call pass and never spares it a look."""
        if asked.subject is None:
            return rule.decision != (Decision.DENY if self._hopeful else Decision.ALLOW)
        try:
            said = asked.subject.said(rule.condition)
        except Unasked:
            raise Unasked(partial(asked.subject.look, self.conditions(asked))) from None
        return rule.decision != Decision.ALLOW if said is None else said


_recent: dict[str, Rules] = {}  # by caller: a hint which conditions the next question will meet
_MOST_CALLERS = 1000


def rules_of(caller: str, *, hopeful: bool = False) -> Rules:
    """The live rules that may speak of this caller. `hopeful`: without a subject, conditions help the call."""
    rules = Rules([Rule(*row) for row in plain.rows(_LIVE_RULES, [caller, caller])], hopeful=hopeful)
    if len(_recent) >= _MOST_CALLERS and caller not in _recent:
        _recent.clear()
    _recent[caller] = rules
    return rules


def foresee(question: Question) -> None:
    """Asks the conditions this process met last time, so that the transaction will find them answered."""
    if question.subject is None:
        return
    if question.network:
        question.subject.take_aim()
    if rules := _recent.get(question.caller):
        question.subject.look(rules.conditions(question))


def judge(question: Question) -> Verdict:
    """The verdict of the first live rule by (priority, name) that matches. Raises Unasked."""
    return rules_of(question.caller).judge(question)


def judge_of(caller: str) -> Callable[[Question], Verdict]:
    """What the rules say of many questions of one caller that have no subject yet: DENY only where nothing helps."""
    return rules_of(caller, hopeful=True).judge


def asked_outside(question: Question) -> Verdict:
    """`judge` where no transaction is open: conditions are asked as needed."""
    rules = rules_of(question.caller)
    if question.subject is not None:
        question.subject.look(rules.conditions(question))
        if question.network:
            question.subject.take_aim()
    return rules.judge(question)


def snapshot(verdict: Verdict) -> str:
    """The snapshot as text, for columns."""
    return json.dumps(verdict.snapshot(), sort_keys=True)


def default(asked: Question) -> Verdict:
    """Reads and internal calls that stay on this host, and reads of hosts on the workspace's list, change nothing
    anybody must see, nor can they tell anybody what they should not; all else is looked at. Raises Unasked.
    """
    if asked.effect in (Effect.READ, Effect.INTERNAL) and not asked.network:
        return Verdict(decision=Decision.ALLOW, rule=DEFAULT, version=1, reason="a local read or an internal call")
    if _reads_listed(asked):
        return Verdict(decision=Decision.ALLOW, rule=DEFAULT, version=1, reason="a read of a host on the list")
    return Verdict(
        decision=Decision.REVIEW,
        rule=DEFAULT,
        version=1,
        reason="no rule allows this without a person",
        reviewer_may_allow=asked.risk in REVIEWABLE,
    )


def _reads_listed(asked: Question) -> bool:
    """Whether the call only reads, and only from hosts on the workspace's list: its URL could tell another host things.

    A capability says where it goes by `aim`: `method`, and every `host:port` in `hosts`.
    """
    if not (asked.network and asked.hosts and asked.effect in (Effect.READ, Effect.EXTERNAL)) or asked.subject is None:
        return False
    target = asked.subject.aimed()
    goes = target.get("hosts")
    if target.get("method") not in _READING or not isinstance(goes, list) or not goes:
        return False
    return all(isinstance(where, str) and listed(where, asked.hosts) for where in goes)
