"""How many passwords are looked at for one name: a place is taken before each, and given back for a right one only.

Names of no account are counted in the same way, under a keyed digest: nothing tells them apart.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from uuid6 import uuid7

from approvals.models import PasswordTries
from forge_project.kernel import clock
from forge_project.kernel.errors import TooMany
from forge_project.ledger.governance import record

_SWEPT = 100  # rows that no longer count, taken along by each wrong password: more than it can leave


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The right to have one password looked at."""

    name: str
    key: str
    n: str


def take(name: str) -> Place:
    """A place for one more password of this name. Raises TooMany, the same for a right and a wrong one."""
    place, now = Place(name=name, key=settings.FORGE_FINGERPRINTS.of(["password", name]), n=uuid7().hex), clock.now()
    with transaction.atomic():
        row = _row(place.key, now)
        wait = 0 if row.locked_until is None else ceil((row.locked_until - now).total_seconds())
        if wait <= 0:
            row.locked_until, row.tries = None, _counting(row, now)
            wait = int(len(row.tries) >= settings.FORGE_PASSWORD_GUESSES)  # those under way will soon be known
        if wait <= 0:
            row.tries.append([place.n, clock.text(now), False])
            row.counts_until = now + _window()
            row.save()
    if wait > 0:
        limit = settings.FORGE_PASSWORD_GUESSES
        raise TooMany(
            f"too many wrong passwords: try again in {wait} seconds",
            rule="password.locked", limit=limit, retry_after=wait,
        )  # fmt: skip
    return place


def settle(place: Place, *, right: bool, actor: str) -> None:
    """What came of it. The last wrong one that is allowed shuts the name for a while, which is a governance fact."""
    now = clock.now()
    with transaction.atomic():
        row = _row(place.key, now)  # made anew where looking took longer than anything counts
        row.tries = [one for one in row.tries if one[0] != place.n]
        if not right:
            row.tries.append([place.n, clock.text(now), True])
            row.counts_until = now + _window()
        if sum(wrong for _, _, wrong in row.tries) >= settings.FORGE_PASSWORD_GUESSES:
            row.locked_until, row.tries = row.counts_until, []
            _tell(place.name, row.locked_until, actor)
        if row.tries or row.locked_until:
            row.save()
        else:
            row.delete()
    if not right:
        _sweep(now)


def give_back(place: Place) -> None:
    """Nobody came to look at the password: it does not count."""
    with transaction.atomic():
        row = _row(place.key, clock.now())
        row.tries = [one for one in row.tries if one[0] != place.n]
        row.save()


def _row(key: str, now: datetime) -> PasswordTries:
    """The name's row, locked; made where there is none. Another may end it between the two: it is made again."""
    while True:
        fresh = PasswordTries(pk=key, counts_until=now + _window())
        PasswordTries.objects.bulk_create([fresh], ignore_conflicts=True)
        if (row := PasswordTries.objects.select_for_update().filter(pk=key).first()) is not None:
            return row


def _counting(row: PasswordTries, now: datetime) -> list[Any]:
    return [one for one in row.tries if clock.moment(one[1]) > now - _window()]


def _window() -> timedelta:
    return timedelta(seconds=settings.FORGE_PASSWORD_SECONDS)


def _tell(name: str, until: datetime, actor: str) -> None:
    """Of a name that is no account nothing is kept: it may be a password that was typed into the wrong field."""
    account = f"user:{name}" if User.objects.filter(username=name).exists() else ""
    wrong = settings.FORGE_PASSWORD_GUESSES
    record("password.locked", actor=actor, account=account, wrong=wrong, until=clock.text(until))


def _sweep(now: datetime) -> None:
    with transaction.atomic():
        over = PasswordTries.objects.select_for_update(skip_locked=True).filter(counts_until__lte=now)
        PasswordTries.objects.filter(pk__in=[row.pk for row in over[:_SWEPT]]).delete()
