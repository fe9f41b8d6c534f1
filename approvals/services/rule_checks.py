"""What a rule may say, and what about it makes one doubt that it does what its author means."""

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from django.contrib.auth.models import Group, User

from approvals import conditions, ports
from approvals.models import ID, MAX_VOTES, PolicyRule
from approvals.policy import DEFAULT
from approvals.services import words
from approvals.states import Decision, Effect, Risk
from forge_project.kernel.errors import Invalid

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_GLOB = re.compile(r"[A-Za-z0-9.*?!\[\]_-]+")
_PLACE = re.compile(r"[A-Za-z0-9_-]{1,80}")
TTL = (60, 604_800)
ISOLATIONS = ("", "shared", "per_execution")


def check_says(name: str, says: Mapping[str, Any]) -> None:
    """Raises Invalid with the field's path for what no rule can say."""
    if not _NAME.fullmatch(name) or name == DEFAULT:
        raise Invalid(f"a name is 1-100 of A-Z a-z 0-9 . _ - and not {DEFAULT!r}", path="/name")
    if not _GLOB.fullmatch(says["capability"]) or len(says["capability"]) > ID:
        raise Invalid("a capability is a name or a glob such as git.*", path="/capability")
    if says["decision"] not in Decision.values:
        raise Invalid("a decision is ALLOW, DENY or REVIEW", path="/decision")
    _check_scope(says)
    _check_people(says)
    if says["condition"]:
        conditions.check(says["condition"])
    words.reason(says["reason"], most=500)


def _check_scope(says: Mapping[str, Any]) -> None:
    if says["caller"] and not User.objects.filter(username=says["caller"]).exists():
        raise Invalid("no such caller", path="/caller")  # a typo would leave a DENY without effect
    if says["caller"] and says["caller_group"]:
        raise Invalid("a rule names a caller or a group, not both", path="/caller_group")
    for field in ("caller_group", "approvers"):
        if says[field] and not Group.objects.filter(name=says[field]).exists():
            raise Invalid("no such group", path=f"/{field}")
    for field in ("workspace", "workspace_kind"):
        if says[field] and not _PLACE.fullmatch(says[field]):
            raise Invalid("letters, digits, _ and - only", path=f"/{field}")
    if says["isolation"] not in ISOLATIONS:
        raise Invalid("an isolation is shared or per_execution", path="/isolation")
    effects = says["effects"].split(",") if says["effects"] else []
    if len(set(effects)) != len(effects) or not set(effects) <= set(Effect.values):
        raise Invalid(f"effects are of {', '.join(Effect.values)}, each once, by commas", path="/effects")


def _check_people(says: Mapping[str, Any]) -> None:
    if says["risk"] not in ("", *Risk.values):
        raise Invalid("a risk is low, medium, high or critical", path="/risk")
    if not 1 <= says["votes"] <= MAX_VOTES:
        raise Invalid(f"1 to {MAX_VOTES} votes", path="/votes")
    if says["ttl_seconds"] is not None and not TTL[0] <= says["ttl_seconds"] <= TTL[1]:
        raise Invalid(f"{TTL[0]} to {TTL[1]} seconds", path="/ttl_seconds")
    if says["approval_required"] and says["reviewer_may_allow"]:
        raise Invalid("where a person is required no reviewer may allow", path="/reviewer_may_allow")
    asks = says["approval_required"] or says["reviewer_may_allow"] or says["votes"] > 1 or says["approvers"]
    if asks and says["decision"] != Decision.REVIEW:
        raise Invalid("reviewers, people, votes and approvers belong to REVIEW", path="/decision")


def doubts(rule: PolicyRule) -> list[str]:
    """Why a saved rule may never match, or never decide as it reads; nothing is refused for these."""
    return list(_doubts(rule))


def _doubts(rule: PolicyRule) -> Iterator[str]:
    known = [one for one in ports.capabilities() if fnmatchcase(one.name, rule.capability)]
    if not known:
        yield f"no capability here is called {rule.capability}: this rule never matches"
    elif rule.effects and not any(one.effect in rule.effects.split(",") for one in known):
        yield f"no capability called {rule.capability} has the effect {rule.effects}: this rule never matches"
    if rule.caller and not User.objects.filter(username=rule.caller, is_active=True).exists():
        yield f"the account {rule.caller} is not active: this rule never matches"
    if rule.caller_group and not User.objects.filter(groups__name=rule.caller_group, is_active=True).exists():
        yield f"nobody is in the group {rule.caller_group}: this rule never matches"
    if rule.workspace and not ports.workspace_known(rule.workspace):
        yield f"there is no workspace {rule.workspace}: this rule never matches"
    if rule.approvers:
        people = User.objects.filter(groups__name=rule.approvers, is_active=True).count()
        if people < rule.votes:
            yield f"{rule.votes} votes are needed and {people} people are in {rule.approvers}: nobody can approve"
    if rule.condition and known:
        yield from _unheard(rule, {field for one in known for field in one.fields})
    if (first := _covering(rule)) is not None:
        yield f"{first} comes first and matches all of this: this rule never matches"


def _unheard(rule: PolicyRule, fields: set[str]) -> Iterator[str]:
    for root, *field in sorted(conditions.mentioned(rule.condition)):
        there = fields if root == "input" else set(ports.TARGET)
        if field and field[0] not in there:
            yield f"no capability called {rule.capability} has {root}.{field[0]}: the condition always fails"


def _covering(rule: PolicyRule) -> PolicyRule | None:
    """An earlier live rule without a condition that matches whatever this one does."""
    for other in PolicyRule.objects.filter(retired_at=None).exclude(pk=rule.pk).order_by("priority", "name"):
        if (other.priority, other.name) > (rule.priority, rule.name):
            return None
        wider = all(
            getattr(other, field) in ("", getattr(rule, field))
            for field in ("caller", "caller_group", "workspace", "workspace_kind", "isolation", "effects")
        )
        if wider and not other.condition and other.capability in ("*", rule.capability):
            return other
    return None
