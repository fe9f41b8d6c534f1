"""The host's hold on one guest process: a turn in, a settle out, and the kill that always works."""

import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from executions.sandbox.channel import Channel, Closed
from executions.sandbox.classify import Ending, Stop, classify
from executions.sandbox.exits import Exit, ExitSlot
from executions.sandbox.frames import Violation
from executions.sandbox.meter import Meter
from executions.sandbox.outward import settle_frame, start_frame
from executions.sandbox.protocol import Ready, parse
from executions.sandbox.shapes import Answer, Complete, Delivered, Fatal, Settled, Start, Turn, Usage

REAP_SECONDS = 5.0
TICK_SECONDS = 0.1  # how often `stop` is asked and the live CPU time looked at
_LINGER_SECONDS = 0.25
_CPU_CLOCK = 2  # CPUCLOCK_SCHED of another process, see clock_getcpuclockid(3)
_CPU_SLACK_MS = 100  # the guest's own limits come first; this is the watch behind them


class Guest:
    """One guest from its handshake to its end. Used by one thread; `kill` by any."""

    def __init__(
        self, *, pid: int, pidfd: int, sock: socket.socket, exit_slot: ExitSlot, baseline_bytes: int = 0
    ) -> None:
        self.pid, self.pidfd = pid, pidfd
        self._channel = Channel(sock)
        self._exits, self._baseline = exit_slot, baseline_bytes
        self._received = self._sent = self._frame_bytes = 0
        self._meter: Meter | None = None
        self._limits = Start(source="", seed="", now=0).limits
        self._settled = False  # whether the guest may send a turn
        self._ended: Complete | Fatal | None = None
        self._live_from_ms: int | None = 0
        self._cpu_left_ms: int | None = None
        self._asked_at = time.monotonic()
        self._killed = False
        self._signalling = threading.Lock()  # a pidfd closed by one thread must not be another's next file

    def handshake(self, *, deadline: float) -> Ready | Fatal:
        """The guest's first frame."""
        frame = self._next(deadline, None)
        if isinstance(frame, Ready | Fatal):
            return frame
        return self._violated("something before ready")

    def begin(self, start: Start) -> None:
        """Sends the one start message."""
        data = start_frame(start)
        self._limits, self._meter = start.limits, Meter(start.limits, start.state)
        self._live_from_ms = None if start.replaying else 0
        self._settled, self._sent = True, 1
        self._send(data)

    def receive(self, *, deadline: float, stop: Callable[[], bool] | None = None) -> Turn | Complete | Fatal:
        """The next frame; at `deadline` (time.monotonic) or when `stop()` says so the guest is killed instead."""
        if self._ended is not None:
            return self._ended
        frame = self._next(deadline, stop)
        if isinstance(frame, Ready):
            return self._violated("a second ready")
        try:
            return self._count(frame)
        except Violation as violation:
            return self._violated(str(violation))

    def settle(self, results: Sequence[Settled], *, grant: int, now: int, catalog: Sequence[Answer] = ()) -> Delivered:
        """Answers a turn with as many results as fit a frame. What a finished guest is told it never hears."""
        data, delivered = settle_frame(self._sent, results, grant=grant, now=now, catalog=catalog)
        self._sent += 1
        if self._meter is not None:
            self._meter.granted(delivered.numbers, delivered.grant)
        self._settled = True
        self._send(data)
        return delivered

    def go_live(self, cpu_left_ms: int | None = None) -> None:
        """Replay is over: CPU time counts from here, up to `cpu_left_ms` where earlier attempts used some of it."""
        self._live_from_ms = self._cpu_ms()
        self._cpu_left_ms = cpu_left_ms

    @property
    def live_cpu_ms(self) -> int:
        """CPU time since `go_live` (or the start), which alone counts against the limit."""
        return 0 if self._live_from_ms is None else max(0, self.usage.cpu_ms - self._live_from_ms)

    @property
    def finished(self) -> bool:
        """Whether a terminal frame is here already, so that the last turn was the final one."""
        return self._ended is not None or self._channel.has_frame()

    @property
    def usage(self) -> Usage:
        """CPU time so far; the peak memory once reaped."""
        exit_ = self._exits.wait(0)
        return Usage(self._cpu_ms(), None) if exit_ is None else Usage(exit_.cpu_ms, self._peak(exit_))

    def kill(self) -> bool:
        """Ends the guest; False if it was not reaped within 5 s (`termination_unconfirmed`)."""
        self._killed = True
        self._signal()
        self._exits.wait(REAP_SECONDS)
        gone = self._gone()
        self._channel.close()
        if gone:
            with self._signalling:
                pidfd, self.pidfd = self.pidfd, -1
            if pidfd >= 0:
                os.close(pidfd)
        return gone

    def _next(self, deadline: float, stop: Callable[[], bool] | None) -> Ready | Turn | Complete | Fatal:
        while True:
            if (reason := self._reason(deadline, stop)) is not None:
                self._signal()
                return self._end(Ending(stop=reason))
            try:
                body = self._channel.read(min(TICK_SECONDS, max(0.0, deadline - time.monotonic())))
                if body is not None:
                    seq, self._received = self._received, self._received + 1
                    self._frame_bytes = len(body)
                    return parse(body, seq)
            except Violation as violation:
                return self._violated(str(violation))
            except Closed:
                return self._end(Ending(stop="cancel" if self._killed else None))

    def _reason(self, deadline: float, stop: Callable[[], bool] | None) -> Stop | None:
        """Why the guest has to go now, if it has to."""
        now = time.monotonic()
        if now >= deadline:
            return "deadline"
        if now - self._asked_at >= TICK_SECONDS:
            self._asked_at = now
            if stop is not None and stop():
                return "cancel"
            left = self._limits.cpu_ms if self._cpu_left_ms is None else self._cpu_left_ms
            if self._live_from_ms is not None and self._cpu_ms() - self._live_from_ms > left + _CPU_SLACK_MS:
                return "cpu"
        return None

    def _count(self, frame: Turn | Complete | Fatal) -> Turn | Complete | Fatal:
        if self._meter is None:
            raise Violation("a frame before start")
        match frame:
            case Turn():
                if not self._settled:
                    raise Violation("a turn before the last one was settled")
                self._meter.turn(frame, self._frame_bytes)
                self._settled = False
                return frame
            case Complete():
                self._meter.complete(frame, self._frame_bytes)
                self._ended = frame
                return frame
            case Fatal() if self._ended is None:
                return self._end(Ending(claim=frame))
        return frame

    def _violated(self, how: str) -> Fatal:
        self._signal()
        return self._end(Ending(stop="violation", violation=how))

    def _end(self, ending: Ending) -> Fatal:
        """Sees the process out and classifies; a guest that lingers after its last word is killed."""
        self._channel.close()
        exit_ = self._exits.wait(_LINGER_SECONDS)
        if exit_ is None:
            self._signal()
            exit_ = self._exits.wait(REAP_SECONDS) or Exit(None)
        limits = self._limits
        self._ended = classify(
            replace(
                ending,
                wait_status=exit_.wait_status,
                cpu_ms=exit_.cpu_ms,
                cpu_limit_ms=limits.cpu_ms,
                peak_bytes=self._peak(exit_),
                memory_limit=limits.memory_bytes,
            )
        )
        return self._ended

    def _send(self, data: bytes) -> None:
        try:
            self._channel.send(data)
        except Closed:
            pass  # receive() will see how it ended
        except TimeoutError:
            self._signal()  # it takes nothing: it is not the guest we started

    def _signal(self) -> None:
        with self._signalling, suppress(ProcessLookupError):
            if self.pidfd >= 0:
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def _gone(self) -> bool:
        """Whether the process has ended, by the kernel's word: also where its zygote died and told nothing."""
        with self._signalling:
            if self.pidfd < 0:
                return True
            poll = select.poll()
            poll.register(self.pidfd, select.POLLIN)
            seen_out = self._exits.wait(0) is not None
            return bool(poll.poll(REAP_SECONDS * 1000 if seen_out else 0))

    def _cpu_ms(self) -> int:
        exit_ = self._exits.wait(0)
        if exit_ is not None:
            return exit_.cpu_ms
        try:
            return int(time.clock_gettime(~self.pid << 3 | _CPU_CLOCK) * 1000)
        except OSError:
            return 0

    def _peak(self, exit_: Exit) -> int:
        return max(0, exit_.peak_bytes - self._baseline)
