"""The whole event: envelope, content, actions and refs, with exact keys."""

import re
from collections.abc import Mapping
from typing import Any

from forge_project.kernel.strict_json import pointer_token
from forge_project.ledger.schema.checks import (
    anything,
    array,
    closed,
    count,
    fault,
    flag,
    ident,
    idents,
    kinds,
    mapping,
    one_of,
    text,
)

RECOVERY_MODES = ("replay_safe", "idempotent", "reconcile", "reattach", "never_auto_retry")
OBSERVATIONS = ("matches_expected_state", "matches_prior_state", "diverged", "unreadable")
DISPOSITIONS = ("completed", "not_applied", "retried", "parked")
_SOURCE_REF = re.compile(r"source_[a-z0-9_]{1,60}")
_REFS = frozenset(
    {"tool_call_id", "operation_id", "provider_event_id", "stored_message_id", "trace_event_id", "step_id"}
    | {"artifact_ref"}
)
_LONGEST_FACT = 60  # the `kind` column
_KIND = {"kind": text}

CONTENT = kinds(
    {
        "text": closed(
            _KIND | {"text": text},
            {"display_text": text, "attachments": array, "quotes": array, "steering": anything},
        ),
        "thinking": closed(_KIND | {"text": text}, {"signature": text, "provider_options": mapping}),
        "function_call": closed(_KIND | {"id": ident, "name": text, "args": anything}, {"provider_options": mapping}),
        "function_response": closed(_KIND | {"id": ident, "name": text, "result": anything}, {"is_error": flag}),
        "error": closed(_KIND | {"message": text}, {"code": text, "reason": text, "details": anything}),
    }
)


def _fact(value: Any, path: str) -> None:
    """One of Forge's own facts: its name, and data that its writer answers for."""
    mapping(value, path)
    name = value.get("fact")
    if type(name) is not str or not 0 < len(name) <= _LONGEST_FACT:
        raise fault("a fact has a name of 1-60 characters", f"{path}/fact", "fact")


def _target(value: Any, path: str) -> None:
    if type(value) not in (str, dict):
        raise fault("expected a name or an object", path, "transfer")


ACTIONS = closed(
    {},
    {
        "tool_dispatch": closed(
            {
                "operation_id": ident,
                "tool_call_id": ident,
                "tool": text,
                "args_digest": text,
                "recovery_mode": one_of("", *RECOVERY_MODES),
                "attempt": count,
            }
        ),
        "tool_recovery": kinds(
            {
                "reconcile_result": closed(
                    _KIND | {"observation": one_of(*OBSERVATIONS), "digest": text, "attempt": count}
                ),
                "recovery_decision": closed(
                    _KIND | {"disposition": one_of(*DISPOSITIONS), "reason": text, "evidence": idents, "attempt": count}
                ),
            }
        ),
        "end_invocation": flag,
        "state_delta": mapping,
        "artifact_delta": mapping,
        "permission_request": mapping,
        "permission_decision": mapping,
        "user_question": mapping,
        "transfer_to_agent": _target,
        "token_usage": mapping,
        "runtime_protocol": mapping,
        "forge": _fact,
    },
)


def _refs(value: Any, path: str) -> None:
    mapping(value, path)
    for name, inner in value.items():
        if name not in _REFS and not _SOURCE_REF.fullmatch(name):
            raise fault("there is no such ref", f"{path}/{pointer_token(name[:100])}", "unknown_key")
        ident(inner, f"{path}/{name}")


_EVENT = closed(
    {
        "event_id": ident,
        "session_id": ident,
        "invocation_id": ident,
        "run_id": ident,
        "turn_id": ident,
        "ts": count,
        "role": one_of("user", "model", "tool", "system"),
        "author": one_of("user", "agent", "tool", "system"),
        "partial": flag,
    },
    {
        "branch": ident,
        "status": one_of("streaming", "completed", "failed", "aborted", "cancelled"),
        "content": CONTENT,
        "actions": ACTIONS,
        "refs": _refs,
    },
)


def refuse_odd(payload: Mapping[str, Any], path: str = "") -> None:
    """Raises Invalid, with the pointer of the first fault under `path`, for what is not an event."""
    _EVENT(payload, path)
