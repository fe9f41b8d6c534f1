"""Which calls pass, which are refused, and which a person must see: the first live rule that matches."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from django.db import connection

from approvals.states import Decision, Effect

# Part of every dispatch, and dearer to build by the ORM than to run.
_LIVE_RULES = """SELECT name, version, capability, decision, reason FROM approvals_policyrule
    WHERE retired_at IS NULL AND caller IN ('', %s) ORDER BY priority, name"""
DEFAULT = "default"  # no stored rule may have this name


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a rule may look at. `caller` is a user name; `network`: whether the call reaches out of this host."""

    caller: str
    workspace: str
    capability: str
    effect: str
    network: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision and the rule, with its version, that made it."""

    decision: Decision
    rule: str
    version: int
    reason: str


def judge(question: Question) -> Verdict:
    """The verdict of the first live rule by (priority, name) that matches, else of the built-in default."""
    return judge_of(question.caller)(question)


def judge_of(caller: str) -> Callable[[Question], Verdict]:
    """`judge` for many questions of one caller, by the rules as they are now."""
    with connection.cursor() as cursor:
        cursor.execute(_LIVE_RULES, [caller])
        rules = cursor.fetchall()

    def verdict(question: Question) -> Verdict:
        for name, version, capability, decision, reason in rules:
            if fnmatchcase(question.capability, capability):
                return Verdict(decision=Decision(decision), rule=name, version=version, reason=reason)
        return _default(question)

    return verdict


def _default(question: Question) -> Verdict:
    """Reads that stay on this host and internal calls change nothing anybody must see; all else is looked at."""
    harmless = question.effect == Effect.INTERNAL or (question.effect == Effect.READ and not question.network)
    if harmless:
        return Verdict(decision=Decision.ALLOW, rule=DEFAULT, version=1, reason="a local read or an internal call")
    return Verdict(decision=Decision.REVIEW, rule=DEFAULT, version=1, reason="no rule allows this without a person")
