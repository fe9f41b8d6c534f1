"""Named places where a crash can be asked for: `FORGE_FAILPOINTS=effect.middle:2=kill` or `crash_at(…)` in tests."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LIFE = (
    "submit.before_commit submit.after_commit publish.before publish.after claim.after close.before reconcile.middle"
)
_CALL = "t1.before t1.after effect.before effect.middle effect.after t2.before t2.after"
_LEDGER = (
    "ledger.before_insert ledger.after_insert ledger.after_head ledger.successor "
    "ledger.chunk ledger.stream_end ledger.checkpoint ledger.sink ledger.purge ledger.import"
)
_OUTBOX = "deliver.sent outbox.purge"
NAMES = frozenset(f"{_LIFE} {_CALL} {_LEDGER} {_OUTBOX}".split())  # read as names, not as punctuation


class Crash(BaseException):
    """As if the process had died here: no `except Exception` may swallow it."""


class _Armed:
    """One failpoint that is set: it fires at its `nth` passing."""

    def __init__(self, name: str, nth: int, action: str) -> None:
        self.name, self.left, self.action, self.reached = name, nth, action, False


_armed: dict[str, _Armed] = {}
_lock = threading.Lock()


def reach(name: str) -> None:
    """Marks a place in the code; does nothing unless this name is armed."""
    if not _armed:
        return
    with _lock:
        point = _armed.get(name)
        if point is None:
            return
        point.left -= 1
        if point.left != 0:
            return
        point.reached = True
    if point.action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise Crash(name)


def arm(spec: str) -> None:
    """Arms `name[:nth]=crash|kill`, several with commas; raises ValueError for a name no code has."""
    for part in filter(None, spec.split(",")):
        place, _, action = part.partition("=")
        name, _, nth = place.partition(":")
        if name not in NAMES or action not in {"crash", "kill"} or not (nth or "1").isdigit() or nth == "0":
            raise ValueError(f"FORGE_FAILPOINTS: {part!r} is not NAME[:N]=crash|kill with a known name")
        _armed[name] = _Armed(name, int(nth or 1), action)


@contextmanager
def crash_at(name: str, nth: int = 1) -> Iterator[None]:
    """Raises Crash at the `nth` passing of `name` and swallows it here; fails if it was never reached."""
    arm(f"{name}:{nth}=crash")
    point = _armed[name]
    try:
        yield
    except Crash:
        pass
    finally:
        _armed.pop(name, None)
    if not point.reached:
        raise AssertionError(f"failpoint {name} was never reached")
