"""A hostile guest process: whatever it sends, the host names the breach and the process is gone."""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from executions.sandbox import Complete, Fatal, Guest, Settled, Turn
from executions.sandbox.exits import Exit, ExitSlot
from tests.unit.sandbox.driving import NOW, start

FAKE = Path(__file__).parent / "fake_guest.py"
LOOKUP = {"request_id": 1, "op": "search", "query": "file", "limit": 10}
QUIET = {"calls": [], "sleep": [], "catalog": [], "output": [], "log": [], "progress": [], "state": []}


def raw(body: bytes, size: int | None = None) -> str:
    return (struct.pack(">I", len(body) if size is None else size) + body).hex()


def frame(kind, seq, payload, **envelope) -> str:
    return raw(json.dumps({"protocol": 1, "type": kind, "seq": seq, "payload": payload} | envelope).encode())


READY = frame("ready", 0, {"engine": "e", "engine_version": "v", "prelude_hash": "p"})


def turn(seq=1, **parts) -> str:
    return frame("turn", seq, QUIET | parts)


def call(n, value=None, **more):
    return {"n": n, "tool": "t", "input": value} | more


def reap(process, slot):
    code = process.wait()
    slot.fill(Exit(code << 8 if code >= 0 else -code))


@contextmanager
def fake(*steps, **limits):
    """A Guest whose process follows `steps` after a proper ready."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-I", "-S", "-B", str(FAKE), str(theirs.fileno())]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.PIPE)
    process.stdin.write("\n".join([READY, *steps]).encode())
    process.stdin.close()
    theirs.close()
    slot = ExitSlot()
    reaper = threading.Thread(target=reap, args=(process, slot))
    guest = Guest(pid=process.pid, pidfd=os.pidfd_open(process.pid), sock=ours, exit_slot=slot)
    reaper.start()
    guest.handshake(deadline=time.monotonic() + 5)
    guest.begin(start("", **limits))
    try:
        yield guest
    finally:
        assert guest.kill()
        reaper.join()


def receive(guest):
    return guest.receive(deadline=time.monotonic() + 5)


JSON = {
    "not JSON": raw(b"{"),
    "not ASCII": raw('{"protocol":1,"type":"turn","seq":1,"payload":"é"}'.encode()),
    "not an object": raw(b"[]"),
    "a doubled key": raw(b'{"protocol":1,"protocol":1,"type":"turn","seq":1,"payload":{}}'),
    "NaN": raw(b'{"protocol":1,"type":"complete","seq":1,"payload":{"value":NaN,"unawaited":[]}}'),
    "a huge integer": raw(
        b'{"protocol":1,"type":"complete","seq":1,"payload":{"value":' + b"9" * 5000 + b',"unawaited":[]}}'
    ),
    "2**53": frame("complete", 1, {"value": 2**53, "unawaited": []}),
    "1e400": raw(b'{"protocol":1,"type":"complete","seq":1,"payload":{"value":1e400,"unawaited":[]}}'),
    "a lone surrogate": frame("complete", 1, {"value": "\ud800", "unawaited": []}),
    "too deep": raw(
        b'{"protocol":1,"type":"complete","seq":1,"payload":{"value":' + b"[" * 201 + b"]" * 201 + b',"unawaited":[]}}'
    ),
    "100,000 deep": raw(b"[" * 100_000),
    "a frame over 8 MiB": raw(b"", 8 * 1024 * 1024 + 1),
    "a frame of 4 GiB": raw(b"", 0xFFFFFFFF),
    "an empty frame": raw(b""),
}
ENVELOPE = {
    "another protocol": frame("turn", 1, QUIET, protocol=2),
    "protocol true": frame("turn", 1, QUIET, protocol=True),
    "seq repeated": turn(0),
    "seq skipped": turn(2),
    "seq true": frame("turn", True, QUIET),
    "seq as text": frame("turn", "1", QUIET),
    "seq a float": frame("turn", 1.0, QUIET),
    "an unknown type": frame("hello", 1, {}),
    "a type that is no text": frame(["turn"], 1, QUIET),
    "a host's type": frame("settle", 1, {"results": [], "catalog": [], "grant": 0, "now": 0}),
    "a key too many": frame("turn", 1, QUIET, extra=1),
    "an empty key too many": frame("turn", 1, QUIET, **{"": 1}),
    "a second ready": READY.replace(b'"seq": 0'.hex(), b'"seq": 1'.hex()),
}
PAYLOADS = {
    "a turn without log": frame("turn", 1, {key: [] for key in QUIET if key != "log"}),
    "a turn with a key too many": turn(more=[]),
    "payload null": frame("turn", 1, None),
    "calls no list": turn(calls={}),
    "n from 0": turn(calls=[call(0)]),
    "n with a gap": turn(calls=[call(2)]),
    "n doubled": turn(calls=[call(1), call(1)]),
    "n backwards": turn(calls=[call(2), call(1)]),
    "n true": turn(calls=[call(True)]),
    "n shared with a sleep": turn(calls=[call(1)], sleep=[{"n": 1, "ms": 1}]),
    "a call without input": turn(calls=[{"n": 1, "tool": "t"}]),
    "a call with a key too many": turn(calls=[call(1, approved=True)]),
    "a tool that is no text": turn(calls=[call(1) | {"tool": 5}]),
    "a tool with NUL": turn(calls=[call(1) | {"tool": "file.read\x00"}]),
    "a long purpose": turn(calls=[call(1, purpose="x" * 501)]),
    "a null purpose": turn(calls=[call(1, purpose=None)]),
    "more calls than the window": turn(calls=[call(n) for n in range(1, 6)]),
    "too large an input": turn(calls=[call(1, "x" * 1000)]),
    "a negative sleep": turn(sleep=[{"n": 1, "ms": -1}]),
    "a sleep of a century": turn(sleep=[{"n": 1, "ms": 10**12}]),
    "half a catalog request": turn(catalog=[{"request_id": 1}]),
    "a catalog request out of order": turn(catalog=[LOOKUP | {"request_id": 2}]),
    "an unknown question to the catalog": turn(catalog=[LOOKUP | {"op": "drop"}]),
    "too many entries": turn(catalog=[LOOKUP | {"limit": 21}]),
    "no entries": turn(catalog=[LOOKUP | {"limit": 0}]),
    "a query too long": turn(catalog=[LOOKUP | {"query": "q" * 201}]),
    "more questions than allowed": turn(catalog=[LOOKUP | {"request_id": n} for n in range(1, 102)]),
    "output that is no text": turn(output=[1]),
    "too much output": turn(output=["x" * 600, "x" * 600]),
    "a log level of its own": turn(log=[{"level": "fatal", "text": ""}]),
    "too much log": turn(log=[{"level": "log", "text": "x" * 66_000}]),
    "two progresses": turn(progress=[{"message": "", "completed": 1, "total": 1}] * 2),
    "a negative progress": turn(progress=[{"message": "", "completed": -1, "total": None}]),
    "too much state": turn(state=[{"key": "k", "value": "x" * 1100}]),
    "a state key twice": turn(state=[{"key": "k", "value": 1}, {"key": "k", "value": 2}]),
    "a state key with NUL": turn(state=[{"key": "k\x00", "value": 1}]),
    "a state write and delete": turn(state=[{"key": "k", "value": 1, "deleted": True}]),
    "deleted false": turn(state=[{"key": "k", "deleted": False}]),
    "unawaited it never made": frame("complete", 1, {"value": 1, "unawaited": [1]}),
    "complete without unawaited": frame("complete", 1, {"value": 1}),
    "too large a result": frame("complete", 1, {"value": "x" * 1000, "unawaited": []}),
    "a code that is the host's": frame("fatal", 1, {"code": "CANCELLED", "message": ""}),
    "a code of its own": frame("fatal", 1, {"code": "OK", "message": ""}),
    "a line that is none": frame("fatal", 1, {"code": "SCRIPT_RUNTIME", "message": "", "line": -1}),
    "a message without end": frame("fatal", 1, {"code": "SCRIPT_RUNTIME", "message": "x" * 6000}),
}
SMALL = {"in_flight": 4, "input_bytes": 500, "output_bytes": 1000, "state_bytes": 1000, "result_bytes": 500}
BREACHES = JSON | ENVELOPE | PAYLOADS


@pytest.mark.parametrize("breach", BREACHES)
def test_a_breach_is_named_and_ends_the_guest(breach):
    with fake("-", BREACHES[breach], **SMALL) as guest:
        end = receive(guest)
        assert isinstance(end, Fatal)
        assert end.code == "PROTOCOL_VIOLATION"
        assert end.message
        assert receive(guest) is end


def test_a_turn_before_the_last_was_settled():
    with fake("-", turn(1), turn(2)) as guest:
        assert isinstance(receive(guest), Turn)
        assert receive(guest).code == "PROTOCOL_VIOLATION"


def test_credit_comes_back_only_by_grant():
    calls = turn(1, calls=[call(n) for n in (1, 2, 3, 4)])
    for grant, code in ((0, "PROTOCOL_VIOLATION"), (1, None)):
        with fake("-", calls, "-", turn(2, calls=[call(5)]), **SMALL) as guest:
            receive(guest)
            guest.settle([Settled(n=1)], grant=grant, now=NOW)
            assert getattr(receive(guest), "code", None) == code


def test_more_calls_than_the_budget():
    steps = ["-"]
    for seq in range(1, 4):
        steps += [turn(seq, calls=[call(seq)]), "-"]
    with fake(*steps, max_calls=2) as guest:
        for n in (1, 2):
            receive(guest)
            guest.settle([Settled(n=n)], grant=1, now=NOW)
        assert receive(guest).message == "more calls than budgeted"


def test_two_terminal_frames_are_one_end():
    with fake(
        "-", frame("complete", 1, {"unawaited": []}), frame("complete", 2, {"value": 2, "unawaited": []})
    ) as guest:
        first = receive(guest)
        assert isinstance(first, Complete)
        assert receive(guest) is first


def test_a_turn_before_start_is_a_violation():
    ours, theirs = socket.socketpair()
    theirs.sendall(bytes.fromhex(turn(0)))
    slot = ExitSlot()
    slot.fill(Exit(0))
    guest = Guest(pid=0, pidfd=-1, sock=ours, exit_slot=slot)
    assert guest.handshake(deadline=time.monotonic() + 1).code == "PROTOCOL_VIOLATION"
    theirs.close()


def test_a_guest_that_goes_silent_or_away():
    with fake("-") as guest:
        began = time.monotonic()
        assert guest.receive(deadline=began + 0.2).code == "TIMEOUT"
        assert time.monotonic() - began < 0.7
    with fake("-", "exit") as guest:
        assert receive(guest).code == "ISOLATE_FAILURE"
    with fake("-", turn(1)[:20], "exit") as guest:
        assert receive(guest).code == "ISOLATE_FAILURE"


def test_a_guest_that_reads_nothing_does_not_hold_the_host(monkeypatch):
    monkeypatch.setattr("executions.sandbox.channel._SEND_SECONDS", 0.2)
    with fake("-", turn(1, calls=[call(1)])) as guest:
        receive(guest)
        began = time.monotonic()
        guest.settle([Settled(n=1, value="x" * 3_000_000)], grant=1, now=NOW)
        assert time.monotonic() - began < 2
        assert receive(guest).code == "ISOLATE_FAILURE"
