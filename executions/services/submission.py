"""A request as an agent sends it: closed, checked, with every default filled in."""

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from jsonschema import Draft202012Validator

from executions.capabilities.base import closed_object, fault_of_schema, validate_input
from executions.sandbox.limits import MAX_SOURCE_BYTES, MAX_TIMEOUT_MS, RANGES, TIMEOUT_MS, Limits
from executions.services import catalog
from executions.states import Interruption, Kind
from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid, TooLarge

SCRIPT = "script.run"
# Python's `$` stands before a last newline too; `(?!\n)` says the same in both dialects of patterns.
ID = {"type": "string", "pattern": r"^[\x21-\x7e]{1,150}$(?!\n)"}
_TEXT = {"type": "string", "maxLength": 500}
IDS = (
    "session_id", "root_session_id", "tool_call_id", "run_id", "turn_id", "correlation_id", "client_ref",
    "analysis_ref",
)  # fmt: skip
SCOPE = ("task_id", "node_id", "role_ref", "worker_ref")
_FIELDS: dict[str, Any] = {
    "source": {"type": "string"},
    "capability": ID,
    "input": {},
    "limits": closed_object((), **{name: {"type": "integer"} for name in RANGES}),
    **dict.fromkeys((*IDS, *SCOPE), ID),
    "run_no": {"type": "integer", "minimum": 1},
    "workspace": {"type": "string", "pattern": r"^[-a-zA-Z0-9_]{1,80}$(?!\n)"},
    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS},
    "interruption": {"enum": list(Interruption.values)},
    "on_behalf_of": {"type": "string", "minLength": 1, "maxLength": 150},
    "purpose": _TEXT,
}
SCHEMA = closed_object((), **_FIELDS)
_KEY = Draft202012Validator(ID)
_VALIDATOR = Draft202012Validator(SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One well-formed request of `caller` under an idempotency key."""

    caller: User
    key: str
    kind: Kind
    capability: str
    request: dict[str, Any]  # {source, input?} or {input}
    limits: Limits
    timeout_ms: int = TIMEOUT_MS
    workspace: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    scope: dict[str, Any] = field(default_factory=dict)
    interruption: Interruption = Interruption.FAIL
    on_behalf_of: str = ""
    purpose: str = ""


def parse(caller: User, key: str | None, body: Any) -> Submission:
    """The submission; Invalid with the path of the fault, TooLarge for a source over its limit."""
    if key is None or not _KEY.is_valid(key):
        raise Invalid("header Idempotency-Key: 1-150 visible ASCII characters", path="", rule="request.idempotency_key")
    if not isinstance(body, dict):
        raise Invalid("the request must be an object", path="", rule="schema.type")
    strict_json.refuse_faults({name: value for name, value in body.items() if name != "source"})
    if (
        first := min(_VALIDATOR.iter_errors(body), key=lambda e: list(map(str, e.absolute_path)), default=None)
    ) is not None:
        raise fault_of_schema(first)
    if ("source" in body) == ("capability" in body):
        raise Invalid("exactly one of source and capability", path="/source", rule="request.kind")
    script = "source" in body
    request = _script(body) if script else _capability(body)
    return Submission(
        caller=caller,
        key=key,
        kind=Kind.SCRIPT if script else Kind.CAPABILITY,
        capability=SCRIPT if script else body["capability"],
        request=request,
        limits=Limits(**body.get("limits", {})),
        timeout_ms=body.get("timeout_ms", TIMEOUT_MS),
        workspace=body.get("workspace", ""),
        ids={name: body[name] for name in IDS if name in body},
        scope={name: body[name] for name in (*SCOPE, "run_no") if name in body},
        interruption=Interruption(body.get("interruption", Interruption.FAIL)),
        on_behalf_of=body.get("on_behalf_of", ""),
        purpose=body.get("purpose", ""),
    )


def _script(body: dict[str, Any]) -> dict[str, Any]:
    strict_json.refuse_faults({"source": body["source"]}, nul=True)
    if len(body["source"].encode()) > MAX_SOURCE_BYTES:
        raise TooLarge("the source is too large", path="/source", limit=MAX_SOURCE_BYTES)
    return {name: body[name] for name in ("source", "input") if name in body}


def _capability(body: dict[str, Any]) -> dict[str, Any]:
    if "limits" in body:
        raise Invalid("limits are a script's", path="/limits", rule="request.kind")
    if "input" not in body:
        raise Invalid("input is missing", path="/input", rule="schema.required")
    capability = catalog.find(body["capability"])
    if capability is None:
        raise Invalid("no such capability", path="/capability", rule="request.capability")
    try:
        validate_input(capability, body["input"])
    except Invalid as error:
        facts = {name: value for name, value in error.facts.items() if name != "path"}
        raise Invalid(error.message, path=f"/input{error.facts['path']}", **facts) from None
    return {"input": body["input"]}
