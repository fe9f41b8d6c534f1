"""Guest to host: every frame is hostile input until it has the one shape it may have."""

from dataclasses import dataclass
from typing import Any

from executions.sandbox.frames import Violation, decode, deeper_than
from executions.sandbox.inside.wire import PROTOCOL
from executions.sandbox.limits import ENTRIES, JSON_DEPTH
from executions.sandbox.shapes import (
    NO_VALUE,
    Asked,
    Complete,
    Fatal,
    Lookup,
    Progress,
    Sleep,
    StateWrite,
    Turn,
)

# What a prelude may claim; the rest of the codes are the host's to give.
CLAIMS = frozenset(
    (
        *("SCRIPT_SYNTAX", "SCRIPT_RUNTIME", "RESULT_INVALID", "UNRESOLVABLE_PROMISE", "PROTOCOL_VIOLATION"),
        *("CPU_LIMIT", "MEMORY_LIMIT", "STACK_LIMIT"),
        *("CALL_LIMIT", "INPUT_LIMIT", "RESULT_LIMIT", "OUTPUT_LIMIT", "STATE_LIMIT"),
    )
)
LEVELS = frozenset(("log", "info", "warn", "error", "debug"))
MAX_MESSAGE, MAX_TOOL, MAX_PURPOSE, MAX_PROGRESS, MAX_KEY, MAX_QUERY = 5000, 200, 500, 500, 200, 200  # characters
MAX_SLEEP_MS = 366 * 86_400_000

_ENVELOPE = frozenset(("protocol", "type", "seq", "payload"))
_READY = frozenset(("engine", "engine_version", "prelude_hash"))
_TURN = frozenset(("calls", "sleep", "catalog", "output", "log", "progress", "state"))
_CALL = frozenset(("n", "tool", "input"))
_CALL_WITH_PURPOSE = _CALL | {"purpose"}
_LOOKUP = frozenset(("request_id", "op", "query", "limit"))
_SLEEP, _LOG = frozenset(("n", "ms")), frozenset(("level", "text"))
_PROGRESS = frozenset(("message", "completed", "total"))
_WRITE, _DELETE = frozenset(("key", "value")), frozenset(("key", "deleted"))
_COMPLETE, _COMPLETE_WITH_VALUE = frozenset(("unawaited",)), frozenset(("unawaited", "value"))
_FATAL, _FATAL_WITH_LINE = frozenset(("code", "message")), frozenset(("code", "message", "line"))


@dataclass(frozen=True, slots=True)
class Ready:
    """Who the guest says it is."""

    engine: str
    engine_version: str
    prelude_sha256: str


Frame = Ready | Turn | Complete | Fatal


def parse(body: bytes, seq: int) -> Frame:
    """The frame in `body` if it is well formed and numbered `seq`; Violation otherwise."""
    message = decode(body)
    _exact(message, "frame", _ENVELOPE)
    if type(message["protocol"]) is not int or message["protocol"] != PROTOCOL:
        raise Violation("another protocol version")
    if type(message["seq"]) is not int or message["seq"] != seq:
        raise Violation(f"seq {str(message['seq'])[:40]} where {seq} was due")
    payload = message["payload"]
    match message["type"]:
        case "turn":
            return _turn(payload)
        case "complete":
            return _complete(payload)
        case "fatal":
            return _fatal(payload)
        case "ready":
            _exact(payload, "ready", _READY)
            return Ready(*(_text(payload[key], "ready", 200) for key in ("engine", "engine_version", "prelude_hash")))
        case _:
            raise Violation("an unknown frame type")


def _turn(payload: Any) -> Turn:
    _exact(payload, "turn", _TURN)
    progress = [_progress(item) for item in _items(payload["progress"], "progress")]
    if len(progress) > 1:
        raise Violation("more than one progress in a turn")
    return Turn(
        calls=tuple([_asked(item) for item in _items(payload["calls"], "calls")]),
        sleep=tuple([_sleep(item) for item in _items(payload["sleep"], "sleep")]),
        catalog=tuple([_lookup(item) for item in _items(payload["catalog"], "catalog")]),
        output=tuple([_text(item, "output") for item in _items(payload["output"], "output")]),
        log=tuple([_log(item) for item in _items(payload["log"], "log")]),
        progress=progress[0] if progress else None,
        state=tuple([_write(item) for item in _items(payload["state"], "state")]),
    )


def _asked(item: Any) -> Asked:
    _exact(item, "call", _CALL, _CALL_WITH_PURPOSE)
    purpose = _text(item["purpose"], "purpose", MAX_PURPOSE) if "purpose" in item else None
    tool = _text(item["tool"], "tool", MAX_TOOL)
    if "\x00" in tool:
        raise Violation("a tool name with U+0000")
    return Asked(_count(item["n"], "n"), tool, item["input"], purpose)


def _sleep(item: Any) -> Sleep:
    _exact(item, "sleep", _SLEEP)
    ms = _count(item["ms"], "ms")
    if ms > MAX_SLEEP_MS:
        raise Violation("a sleep of more than a year")
    return Sleep(_count(item["n"], "n"), ms)


def _lookup(item: Any) -> Lookup:
    _exact(item, "catalog request", _LOOKUP)
    op, limit = item["op"], _count(item["limit"], "limit")
    if op not in ("search", "describe"):
        raise Violation("an unknown question to the catalog")
    if not 1 <= limit <= ENTRIES:
        raise Violation("a catalog request for more entries than there may be")
    return Lookup(_count(item["request_id"], "request_id"), op, _text(item["query"], "query", MAX_QUERY), limit)


def _log(item: Any) -> tuple[str, str]:
    _exact(item, "log", _LOG)
    level = _text(item["level"], "level", 10)
    if level not in LEVELS:
        raise Violation("an unknown log level")
    return level, _text(item["text"], "log")


def _progress(item: Any) -> Progress:
    _exact(item, "progress", _PROGRESS)
    message = _text(item["message"], "progress", MAX_PROGRESS)
    completed, total = (None if item[key] is None else _count(item[key], key) for key in ("completed", "total"))
    return Progress(message, completed, total)


def _write(item: Any) -> StateWrite:
    _exact(item, "state", _WRITE, _DELETE)
    if "deleted" in item:
        if item["deleted"] is not True:
            raise Violation("a state write that is no write")
        return StateWrite(_key(item["key"]), deleted=True)
    return StateWrite(_key(item["key"]), item["value"])


def _key(value: Any) -> str:
    key = _text(value, "state key", MAX_KEY)
    if not key or "\x00" in key:
        raise Violation("a state key that is none")
    return key


def _complete(payload: Any) -> Complete:
    _exact(payload, "complete", _COMPLETE, _COMPLETE_WITH_VALUE)
    value = payload.get("value", NO_VALUE)
    if deeper_than(value, JSON_DEPTH):
        raise Violation("a result nested too deeply")
    return Complete(value, tuple(_count(n, "unawaited") for n in _items(payload["unawaited"], "unawaited")))


def _fatal(payload: Any) -> Fatal:
    _exact(payload, "fatal", _FATAL, _FATAL_WITH_LINE)
    code = _text(payload["code"], "code", 40)
    if code not in CLAIMS:
        raise Violation("a code that is not the guest's to give")
    line = _count(payload["line"], "line") if "line" in payload else None
    return Fatal(code, _text(payload["message"], "message", MAX_MESSAGE), line)


def _exact(value: Any, what: str, keys: frozenset[str], or_keys: frozenset[str] | None = None) -> None:
    if type(value) is not dict:
        raise Violation(f"{what} is not an object")
    if value.keys() != keys and (or_keys is None or value.keys() != or_keys):
        raise Violation(f"{what} has other keys than it may have")


def _items(value: Any, what: str) -> list[Any]:
    if type(value) is not list:
        raise Violation(f"{what} is not a list")
    return value


def _text(value: Any, what: str, most: int | None = None) -> str:
    if type(value) is not str or (most is not None and len(value) > most):
        raise Violation(f"{what} is not text of the length it may have")
    return value


def _count(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise Violation(f"{what} is not a count")
    return value
