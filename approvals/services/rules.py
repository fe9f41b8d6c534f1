"""Change the policy: a rule is never edited, its next version takes over."""

import re
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError
from django.db.models import Max

from approvals.models import ID, PolicyRule
from approvals.policy import DEFAULT
from approvals.services import words
from approvals.states import Decision
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.governance import governing, record

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_GLOB = re.compile(r"[A-Za-z0-9.*?!\[\]_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRule:
    """What a rule shall say from now on. `caller` blank = any; `seen` = the live version it was edited from."""

    name: str
    capability: str
    decision: str
    author: User
    priority: int = 100
    caller: str = ""
    reason: str = ""
    seen: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetireRule:
    """A rule that shall no longer hold."""

    name: str
    author: User


def save_rule(asked: SaveRule) -> PolicyRule:
    """The live version that says so: the present one if it does already, else a new one. Raises Invalid, Conflict."""
    check_rule(asked)
    says = {name: getattr(asked, name) for name in ("priority", "caller", "capability", "decision", "reason")}
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


def _next(asked: SaveRule, live: PolicyRule | None, says: dict[str, Any]) -> PolicyRule:
    last = PolicyRule.objects.filter(name=asked.name).aggregate(last=Max("version"))["last"] or 0
    if live is not None:
        _retire(live, asked.author)
    made = PolicyRule.objects.create(
        name=asked.name, version=last + 1, author=asked.author, created_at=clock.now(), **says
    )
    said = says | ({"was": live.version} if live else {})
    fact = "rule.changed" if live else "rule.added"
    record(fact, actor=actors.of(asked.author), name=made.name, version=made.version, **said)
    return made


def _retire(live: PolicyRule, by: User) -> None:
    if PolicyRule.objects.filter(pk=live.pk, retired_at=None).update(retired_at=clock.now(), retired_by=by) != 1:
        raise Conflict("this rule was changed at the same time", rule=live.name)


def check_rule(asked: SaveRule) -> None:
    """Raises Invalid where a rule could not say this."""
    if not _NAME.fullmatch(asked.name) or asked.name == DEFAULT:
        raise Invalid(f"a name is 1-100 of A-Z a-z 0-9 . _ - and not {DEFAULT!r}", path="/name")
    if not _GLOB.fullmatch(asked.capability) or len(asked.capability) > ID:
        raise Invalid("a capability is a name or a glob such as git.*", path="/capability")
    if asked.decision not in Decision.values:
        raise Invalid("a decision is ALLOW, DENY or REVIEW", path="/decision")
    if asked.caller and not User.objects.filter(username=asked.caller).exists():
        raise Invalid("no such caller", path="/caller")  # a typo would leave a DENY without effect
    words.reason(asked.reason, most=500)
