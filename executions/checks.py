"""System checks with stable ids."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from executions.states import CALL_MOVES, MOVES, PAIRS, CallStatus, Status


@register()
def tables_are_total(**_: Any) -> list[CheckMessage]:
    """forge.E001: every status has its moves and its legal side effects."""
    faults = set(Status) - set(MOVES) or set(Status) - set(PAIRS) or set(CallStatus) - set(CALL_MOVES)
    return [Error(f"no moves for {sorted(faults)}", id="forge.E001")] if faults else []


@register()
def isolation_is_strong(**_: Any) -> list[CheckMessage]:
    """forge.W001: weak isolation was allowed by setting."""
    if not settings.FORGE_ALLOW_WEAK_ISOLATION:
        return []
    return [Warning("FORGE_ALLOW_WEAK_ISOLATION=1: guests may run without seccomp", id="forge.W001")]


@register(deploy=True)
def requests_are_counted_together(**_: Any) -> list[CheckMessage]:
    """forge.W002: several web processes, and no cache they share."""
    if settings.FORGE_MODE != "scaled" or settings.FORGE_CACHE_URL:
        return []
    return [Warning("FORGE_CACHE_URL is not set: FORGE_RATE_* hold for each web process alone", id="forge.W002")]
