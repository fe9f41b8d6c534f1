"""What passes between a driver and a guest: closed, frozen shapes."""

import enum
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from executions.sandbox.limits import Limits

Json = Any  # a JSON value, checked by kernel.strict_json where it came in


class NoValue(enum.Enum):
    """The mark of a script that returned nothing; null is a value."""

    NO_VALUE = "no_value"


NO_VALUE: Final = NoValue.NO_VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """All a script can know at its first line; sealed with the execution, the same for every attempt."""

    source: str
    input: Json = None
    state: dict[str, Json] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    seed: str
    now: int  # milliseconds since 1970
    catalog: list[str] = field(default_factory=list)
    replaying: bool = False  # never seen by the script

    @property
    def cpu_ms(self) -> int:
        """The guest's allowance: replay has one of its own, equal to the limit; the host watches the live part."""
        return self.limits.cpu_ms * 2 if self.replaying else self.limits.cpu_ms


class Asked(NamedTuple):
    """One call the script wants made. A tuple, as is Settled, since thousands are made."""

    n: int
    tool: str
    input: Json
    purpose: str | None


class Lookup(NamedTuple):
    """One question to the catalog; `request_id` counts from 1."""

    request_id: int
    op: Literal["search", "describe"]
    query: str
    limit: int


class Answer(NamedTuple):
    """The catalog's answer to a lookup: entries {name, summary, effect, input_schema}, or an error as in Settled."""

    request_id: int
    ok: bool = True
    entries: tuple[Json, ...] = ()
    error: dict[str, Json] | None = None

    def wire(self) -> dict[str, Json]:
        """As the settle frame and the `forge.turn` event carry it."""
        said = {"entries": list(self.entries)} if self.ok else {"error": self.error}
        return {"request_id": self.request_id, "ok": self.ok} | said


@dataclass(frozen=True, slots=True)
class Sleep:
    """One durable sleep; it has a call's number, credit and budget."""

    n: int
    ms: int


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest progress of a turn."""

    message: str
    completed: int | None
    total: int | None


@dataclass(frozen=True, slots=True)
class StateWrite:
    """One key of the state overlay; `deleted` or a value."""

    key: str
    value: Json = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What the guest said when it came to rest. It waits for one settle, unless a terminal frame follows at once."""

    calls: tuple[Asked, ...] = ()
    sleep: tuple[Sleep, ...] = ()
    catalog: tuple[Lookup, ...] = ()
    output: tuple[str, ...] = ()
    log: tuple[tuple[str, str], ...] = ()  # (level, text)
    progress: Progress | None = None
    state: tuple[StateWrite, ...] = ()


@dataclass(frozen=True, slots=True)
class Complete:
    """The script returned; `unawaited` are calls still in flight."""

    value: Json | NoValue
    unawaited: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fatal:
    """The script or its guest ended otherwise; the guest is dead or dying."""

    code: str
    message: str
    line: int | None = None
    details: dict[str, Json] = field(default_factory=dict)


class Settled(NamedTuple):
    """The answer to call or sleep `n`; `error` is {code, message, retryable, details?}."""

    n: int
    ok: bool = True
    value: Json = None
    error: dict[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """What one settle frame carried; what did not fit is the driver's to give again."""

    numbers: tuple[int, ...]
    grant: int


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time so far; the peak memory is known once the guest is reaped."""

    cpu_ms: int
    peak_bytes: int | None
