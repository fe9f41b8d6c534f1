"""The lanes: what each kind of event must be beside its shape, and who may write it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from forge_project.ledger.errors import OperationConflict, ReservedFact


class Lane(StrEnum):
    """Each event is in exactly one."""

    ORDINARY = "ordinary"
    FUNCTION_CALL = "function_call"
    TOOL_DISPATCH = "tool_dispatch"
    FUNCTION_RESPONSE = "function_response"
    RECONCILE_RESULT = "reconcile_result"
    RECOVERY_DECISION = "recovery_decision"


_OPERATION = {"operation_id", "tool_call_id"}
_SPEAKERS = {
    Lane.FUNCTION_CALL: ("model", "agent"),
    Lane.FUNCTION_RESPONSE: ("tool", "tool"),
    Lane.TOOL_DISPATCH: ("system", "system"),
    Lane.RECONCILE_RESULT: ("system", "system"),
    Lane.RECOVERY_DECISION: ("system", "system"),
}


def lane_of(payload: Mapping[str, Any], path: str = "") -> Lane:
    """The event's lane; OperationConflict (scan `lane_conflict`) for one that is in several or half in one."""
    content, actions = payload.get("content") or {}, payload.get("actions") or {}
    kind = content.get("kind")
    found = [Lane(kind)] if kind in (Lane.FUNCTION_CALL, Lane.FUNCTION_RESPONSE) else []
    found += [Lane.TOOL_DISPATCH] if "tool_dispatch" in actions else []
    found += [Lane(actions["tool_recovery"]["kind"])] if "tool_recovery" in actions else []
    if not found:
        return Lane.ORDINARY
    if len(found) > 1:
        raise _conflict("an event is in one lane", path)
    lane = found[0]
    if (payload["role"], payload["author"]) != _SPEAKERS[lane]:
        raise _conflict(f"a {lane} comes from {' and '.join(_SPEAKERS[lane])}", f"{path}/role")
    for name in ("status", "branch"):
        if name in payload:
            raise _conflict(f"a {lane} has no {name}", f"{path}/{name}")
    if payload["partial"]:
        raise _conflict(f"a {lane} is never partial", f"{path}/partial")
    _refuse_refs(lane, payload, path)
    return lane


def _refuse_refs(lane: Lane, payload: Mapping[str, Any], path: str) -> None:
    refs = payload.get("refs") or {}
    if lane in (Lane.FUNCTION_CALL, Lane.FUNCTION_RESPONSE):
        if refs.get("tool_call_id", payload["content"]["id"]) != payload["content"]["id"]:
            raise _conflict("refs.tool_call_id is the content's id", f"{path}/refs/tool_call_id")
        return
    if "content" in payload:
        raise _conflict(f"a {lane} has no content", f"{path}/content")
    if set(refs) != _OPERATION:
        raise _conflict(f"the refs of a {lane} are exactly operation_id and tool_call_id", f"{path}/refs")
    said = payload["actions"].get("tool_dispatch", refs)
    if (said["operation_id"], said["tool_call_id"]) != (refs["operation_id"], refs["tool_call_id"]):
        raise _conflict("a dispatch names the operation of its refs", f"{path}/actions/tool_dispatch")


def refuse_reserved(lane: Lane, payload: Mapping[str, Any], path: str = "") -> None:
    """ReservedFact for what only Forge's own writers write: dispatches, bound responses, recovery, `forge` facts."""
    if lane in (Lane.TOOL_DISPATCH, Lane.RECONCILE_RESULT, Lane.RECOVERY_DECISION):
        raise ReservedFact(f"only the tool boundary writes a {lane}", path=f"{path}/actions", lane=lane.value)
    if "operation_id" in (payload.get("refs") or {}):
        raise ReservedFact("only the tool boundary binds to an operation", path=f"{path}/refs/operation_id")
    if "forge" in (payload.get("actions") or {}):
        raise ReservedFact("these facts are Forge's own", path=f"{path}/actions/forge")


def _conflict(message: str, path: str) -> OperationConflict:
    return OperationConflict(message, scan="lane_conflict", path=path)
