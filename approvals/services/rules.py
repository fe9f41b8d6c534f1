"""Change the policy: a rule is never edited, its next version takes over."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.db.models import Max

from approvals.models import PolicyRule
from approvals.services.rule_checks import check_says
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Conflict, Missing
from forge_project.ledger.governance import governing, record

_NOT_SAID = {"name", "author", "seen"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRule:
    """What a rule shall say from now on. Blank = any; `seen` = the live version it was edited from."""

    name: str
    capability: str
    decision: str
    author: User
    priority: int = 100
    caller: str = ""
    caller_group: str = ""
    workspace: str = ""
    workspace_kind: str = ""
    isolation: str = ""
    effects: str = ""
    condition: str = ""
    reason: str = ""
    risk: str = ""
    reviewer_may_allow: bool = False
    approval_required: bool = False
    votes: int = 1
    approvers: str = ""
    ttl_seconds: int | None = None
    seen: int | None = None

    def says(self) -> dict[str, Any]:
        """The columns it decides by."""
        names = (name for name in self.__dataclass_fields__ if name not in _NOT_SAID)
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireRule:
    """A rule that shall no longer hold."""

    name: str
    author: User


def save_rule(asked: SaveRule) -> PolicyRule:
    """The live version that says so: the present one if it does already, else a new one. Raises Invalid, Conflict."""
    check_rule(asked)
    says = asked.says()
    try:
        with governing():
            live = PolicyRule.objects.filter(name=asked.name, retired_at=None).first()
            if asked.seen is not None and asked.seen != (live.version if live else 0):
                raise Conflict("this rule has another version now", rule=asked.name, version=live and live.version)
            if live is not None and all(getattr(live, name) == value for name, value in says.items()):
                return live
            return _next(asked, live, says)
    except IntegrityError:
        raise Conflict("this rule was changed at the same time", rule=asked.name) from None


def retire_rule(asked: RetireRule) -> PolicyRule:
    """The version that held until now. Raises Missing."""
    with governing():
        live = PolicyRule.objects.filter(name=asked.name, retired_at=None).first()
        if live is None:
            raise Missing("no such live rule", rule=asked.name)
        _retire(live, asked.author)
        record("rule.retired", actor=actors.of(asked.author), name=live.name, version=live.version)
    live.refresh_from_db()
    return live


def check_rule(asked: SaveRule) -> None:
    """Raises Invalid where a rule could not say this."""
    check_says(asked.name, asked.says())


def _next(asked: SaveRule, live: PolicyRule | None, says: dict[str, Any]) -> PolicyRule:
    last = PolicyRule.objects.filter(name=asked.name).aggregate(last=Max("version"))["last"] or 0
    if live is not None:
        _retire(live, asked.author)
    made = PolicyRule.objects.create(
        name=asked.name, version=last + 1, author=asked.author, created_at=clock.now(), **says
    )
    said = {name: value for name, value in says.items() if value not in ("", None)}
    said |= {"was": live.version} if live else {}
    told = "rule.changed" if live else "rule.added"
    record(told, actor=actors.of(asked.author), name=made.name, version=made.version, **said)
    return made


def _retire(live: PolicyRule, by: User) -> None:
    if PolicyRule.objects.filter(pk=live.pk, retired_at=None).update(retired_at=clock.now(), retired_by=by) != 1:
        raise Conflict("this rule was changed at the same time", rule=live.name)
