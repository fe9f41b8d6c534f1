"""Before an execution goes on from its history: whether that history is what was written. Nothing is repaired."""

import hashlib
from typing import Any

from django.conf import settings

from executions.models import Call, Execution
from executions.services import sealed
from executions.states import CallStatus
from forge_project.kernel import hot
from forge_project.ledger import intact
from forge_project.ledger.errors import LedgerCorrupt

_BEFORE_DISPATCH = (CallStatus.REQUESTED, CallStatus.AWAITING_APPROVAL, CallStatus.REJECTED)
_SUBMITTED = ("kind", "capability", "code_sha256", "input_fingerprint")


def check(execution: Execution) -> None:
    """Raises LedgerCorrupt for the first fault of the chain, or of a row the next attempt would build on.

    Raises SealBroken where no key here opens a row: then nothing is known to be wrong with the ledger.
    """
    told = _Told(intact.payloads(execution.ref))
    request = sealed.unseal(execution.sealed_request)
    ours = sealed.shown(execution.ref, {name: getattr(execution, name) for name in _SUBMITTED})
    source = request.get("source")
    if told.submitted != ours or (source is not None and _sha256(source) != execution.code_sha256):
        raise _corrupt(execution, "request_differs")
    calls = {call.call_id: call for call in hot.rows(Call, {"execution_id": execution.pk})}
    if set(calls) != set(told.asked):
        raise _corrupt(execution, "calls_differ")
    for call_id, call in calls.items():
        _check_call(execution, call, told, call_id)


class _Told:
    """What the execution's chain says of its request and its calls; digests of inputs and results by call id."""

    def __init__(self, payloads: list[dict[str, Any]]) -> None:
        self.submitted: dict[str, Any] = {}
        self.asked: dict[str, str] = {}
        self.ended: dict[str, str] = {}
        self.dispatched: set[str] = set()
        for payload in payloads:
            self._hear(payload)

    def _hear(self, payload: dict[str, Any]) -> None:
        actions, call_id = payload.get("actions") or {}, (payload.get("refs") or {}).get("tool_call_id", "")
        said = actions.get("forge") or {}
        match said.get("fact"):
            case "execution.submitted":
                self.submitted = {name: said[name] for name in _SUBMITTED}
            case "call.requested":
                self.asked[call_id] = said["args_digest"]
            case "call.outcome" | "call.resolved":
                self.ended[call_id] = said.get("result_digest", "")
        if "tool_dispatch" in actions:
            self.dispatched.add(call_id)


def _check_call(execution: Execution, call: Call, told: _Told, call_id: str) -> None:
    asked = {"tool": call.tool, "args": sealed.unseal(call.sealed_input)}
    ended = None if call.sealed_result is None else sealed.unseal(call.sealed_result)
    match = settings.FORGE_FINGERPRINTS.match
    if not match(told.asked[call_id], asked):
        raise _corrupt(execution, "input_differs", call=call_id)
    if (ended is None) != (call_id not in told.ended) or (ended is not None and not match(told.ended[call_id], ended)):
        raise _corrupt(execution, "result_differs", call=call_id)
    if call_id in told.dispatched and call.status in _BEFORE_DISPATCH:
        raise _corrupt(execution, "dispatch_forgotten", call=call_id)


def _sha256(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()


def _corrupt(execution: Execution, problem: str, **where: Any) -> LedgerCorrupt:
    return LedgerCorrupt("what is stored is not what was written", execution=execution.ref, problem=problem, **where)
