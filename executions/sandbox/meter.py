"""The host's own count of what a guest may still do; the prelude counts the same, so an excess is a violation."""

import json
from collections.abc import Mapping
from typing import Any

from executions.sandbox.frames import Violation
from executions.sandbox.limits import LOG_BYTES, LOOKUPS, STATE_VALUE_BYTES, Limits
from executions.sandbox.shapes import NO_VALUE, Complete, Turn
from forge_project.kernel.canonical import canonical

_FULL = len('"[the log is full]"')  # the prelude's last line, which may stand beyond the limit


class Meter:
    """Numbers, credits and bytes of one guest."""

    def __init__(self, limits: Limits, state: Mapping[str, Any]) -> None:
        self._limits = limits
        self._credit = limits.in_flight
        self._output = self._log = 0
        self._state = {key: _size(key) + _size(value) for key, value in state.items()}
        self.last = self._lookups = 0
        self.in_flight: set[int] = set()

    def granted(self, numbers: tuple[int, ...], grant: int) -> None:
        """Notes what a settle gave."""
        self.in_flight.difference_update(numbers)
        self._credit += grant

    def turn(self, turn: Turn, frame_bytes: int) -> None:
        """Counts one turn that came in so many bytes; Violation for what is over."""
        self._numbers(turn)
        if frame_bytes > self._limits.input_bytes:  # else no input of it can be over
            for call in turn.calls:
                if _size(call.input) > self._limits.input_bytes:
                    raise Violation(f"call {call.n} has too large an input")
        for lookup in turn.catalog:
            self._lookups += 1
            if lookup.request_id != self._lookups or self._lookups > LOOKUPS:
                raise Violation("a catalog request out of order or over its limit")
        if turn.output:
            self._output += sum(map(_size, turn.output))
            if self._output > self._limits.output_bytes:
                raise Violation("more output than allowed")
        if turn.log:
            self._log += sum(_size(text) for _, text in turn.log)
            if self._log > LOG_BYTES + _FULL:
                raise Violation("more log than allowed")
        if turn.state:
            self._write(turn)

    def complete(self, complete: Complete, frame_bytes: int) -> None:
        """Checks a terminal message against what was asked."""
        numbers = complete.unawaited
        if numbers and (numbers[-1] > self.last or list(numbers) != sorted(set(numbers))):
            raise Violation("unawaited calls that were never made")
        if complete.value is NO_VALUE or frame_bytes <= self._limits.result_bytes:
            return
        if _size(complete.value) > self._limits.result_bytes:
            raise Violation("too large a result")

    def _numbers(self, turn: Turn) -> None:
        """Calls and sleeps number on from the last, each list in order, within credit and budget."""
        numbers = [call.n for call in turn.calls]
        if turn.sleep:
            sleeps = [sleep.n for sleep in turn.sleep]
            if numbers != sorted(numbers) or sleeps != sorted(sleeps):
                raise Violation("calls out of order")
            numbers = sorted(numbers + sleeps)
        for n in numbers:
            self.last += 1
            if n != self.last:
                raise Violation(f"call {n} where {self.last} was due")
        if len(numbers) > self._credit:
            raise Violation("more calls than granted")
        if self.last > self._limits.max_calls:
            raise Violation("more calls than budgeted")
        self._credit -= len(numbers)
        self.in_flight.update(numbers)

    def _write(self, turn: Turn) -> None:
        keys = [write.key for write in turn.state]
        if len(set(keys)) != len(keys):
            raise Violation("a state key written twice in a turn")
        for write in turn.state:
            self._state.pop(write.key, None)
            if not write.deleted:
                value = _size(write.value)
                if value > STATE_VALUE_BYTES:
                    raise Violation("too large a state value")
                self._state[write.key] = _size(write.key) + value
        # a snapshot may already be over the limit; shrinking it is no offence
        if not all(write.deleted for write in turn.state) and sum(self._state.values()) > self._limits.state_bytes:
            raise Violation("more state than allowed")


_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


def _size(value: Any) -> int:
    """Bytes of ASCII JSON as JavaScript writes it."""
    text = _encode(value)
    if "\\u007f" not in text and "e-0" not in text:
        return len(text)
    # where Python writes more or less than JavaScript: DEL, and small numbers
    units = canonical(value).decode().encode("utf-16-le")
    return sum(1 if not high and low < 128 else 6 for low, high in zip(units[::2], units[1::2], strict=True))
