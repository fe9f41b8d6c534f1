"""The state of a session: a snapshot at the first start, an overlay committed only with success."""

from collections.abc import Iterable
from typing import Any

from django.db import IntegrityError, transaction

from executions.errors import StateChanged
from executions.models import Execution, SessionValue
from executions.sandbox.shapes import StateWrite
from executions.services import sealed
from forge_project.kernel import hot

Snapshot = dict[str, list[Any]]  # key -> [version, present, value], as it is sealed with the execution


def snapshot(execution: Execution) -> Snapshot:
    """Every key of the caller's session as it is now; a deleted key keeps its version."""
    rows = hot.rows(SessionValue, of(execution))
    return {row.key: [row.version, *_opened(row)] for row in rows}


def of(execution: Execution) -> dict[str, Any]:
    """Which rows are the session of this execution."""
    place = execution.workspace.name if execution.workspace else ""
    return {"caller_id": execution.caller_id, "workspace": place, "session_id": execution.session_id}


def _opened(row: SessionValue) -> tuple[bool, Any]:
    return (False, None) if row.sealed_value is None else (True, sealed.unseal(row.sealed_value))


def visible(taken: Snapshot) -> dict[str, Any]:
    """What the script sees of a snapshot."""
    return {key: value for key, (_, present, value) in taken.items() if present}


def commit(execution: Execution, taken: Snapshot, writes: Iterable[StateWrite]) -> None:
    """Writes the overlay; StateChanged if another execution changed one of its keys meanwhile."""
    last = {write.key: write for write in writes}
    for key, write in sorted(last.items()):
        version = taken[key][0] if key in taken else 0
        value = None if write.deleted else sealed.seal(write.value)
        mine = of(execution) | {"key": key}
        if not (_replace(mine, version, value) if version else _insert(mine, value)):
            raise StateChanged("another execution changed this state key", key=key)


def _replace(mine: dict[str, Any], version: int, value: bytes | None) -> bool:
    rows = SessionValue.objects.filter(**mine, version=version)
    return rows.update(sealed_value=value, version=version + 1) == 1


def _insert(mine: dict[str, Any], value: bytes | None) -> bool:
    try:
        with transaction.atomic():
            SessionValue.objects.create(**mine, sealed_value=value)
    except IntegrityError:
        return False
    return True
