"""The one classifier, over everything a host can observe."""

import signal

import pytest

from executions.sandbox.classify import Ending, classify
from executions.sandbox.inside.wire import BROKEN, DONE, HOST_GONE, NO_MEMORY, NULL_THROWN
from executions.sandbox.shapes import Fatal

CLAIM = Fatal("SCRIPT_RUNTIME", "Error: out of memory", 3)
MIB = 1 << 20


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (Ending(stop="deadline", claim=CLAIM), "TIMEOUT"),
        (Ending(stop="cancel", wait_status=int(signal.SIGXCPU)), "CANCELLED"),
        (Ending(stop="cpu"), "CPU_LIMIT"),
        (Ending(stop="violation", violation="how"), "PROTOCOL_VIOLATION"),
        (Ending(claim=CLAIM, wait_status=DONE, peak_bytes=64 * MIB, memory_limit=64 * MIB), "SCRIPT_RUNTIME"),
        (Ending(claim=CLAIM, wait_status=NULL_THROWN << 8, peak_bytes=1, memory_limit=64 * MIB), "SCRIPT_RUNTIME"),
        (Ending(claim=CLAIM, wait_status=NULL_THROWN << 8, peak_bytes=60 * MIB, memory_limit=64 * MIB), "MEMORY_LIMIT"),
        (Ending(wait_status=NO_MEMORY << 8), "MEMORY_LIMIT"),
        (Ending(wait_status=int(signal.SIGXCPU)), "CPU_LIMIT"),
        (Ending(wait_status=int(signal.SIGPROF)), "CPU_LIMIT"),
        (Ending(wait_status=int(signal.SIGKILL), cpu_ms=2001, cpu_limit_ms=1000), "CPU_LIMIT"),
        (Ending(wait_status=int(signal.SIGKILL), cpu_ms=10, cpu_limit_ms=1000), "ISOLATE_FAILURE"),
        (Ending(wait_status=int(signal.SIGALRM)), "TIMEOUT"),
        (Ending(wait_status=int(signal.SIGSYS)), "ISOLATE_FAILURE"),
        (Ending(wait_status=int(signal.SIGSEGV) | 0x80), "ISOLATE_FAILURE"),
        (Ending(wait_status=DONE), "ISOLATE_FAILURE"),
        (Ending(wait_status=HOST_GONE << 8), "ISOLATE_FAILURE"),
        (Ending(wait_status=BROKEN << 8), "ISOLATE_FAILURE"),
        (Ending(), "ISOLATE_FAILURE"),
    ],
)
def test_code(ending, code):
    assert classify(ending).code == code


def test_a_claim_keeps_its_line_and_message():
    assert classify(Ending(claim=CLAIM, wait_status=DONE)) == CLAIM
