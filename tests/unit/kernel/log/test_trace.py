"""traceparent: taken as it is, or made."""

import pytest

from forge_project.kernel.log import trace

GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_good_one_is_taken():
    assert trace.read(GOOD) == GOOD
    assert trace.read("cc" + GOOD[2:] + "-later") == GOOD


@pytest.mark.parametrize(
    "bad",
    ["", "x", GOOD + "-x", GOOD.upper(), "ff" + GOOD[2:], GOOD.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
     GOOD.replace("b7ad6b7169203331", "0" * 16), GOOD[:-1], " " + GOOD, "cc" + GOOD[2:] + "x", GOOD + "\n", "é" * 55],
)  # fmt: skip
def test_anything_else_is_a_new_one(bad):
    made = trace.read(bad)
    assert made != trace.read(bad)
    assert trace.read(made) == made


def test_a_child_is_of_the_same_trace_and_the_same_each_time():
    child = trace.child(GOOD, "exec_1#1")
    assert child.split("-")[1] == GOOD.split("-")[1]
    assert child == trace.child(GOOD, "exec_1#1") != trace.child(GOOD, "exec_1#2")
    assert trace.read(trace.child("", "x"))


def test_what_is_bound_ends_with_its_block():
    with trace.bound(traceparent=GOOD, task=""):
        assert trace.current("traceparent") == GOOD
    assert trace.current("traceparent") == ""
