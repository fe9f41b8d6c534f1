"""Host to guest: what may cross, and a guest that takes nothing but the next right frame."""

import time

import pytest

from executions.sandbox import Limits, Settled, Turn, refuse_result
from executions.sandbox.inside import wire
from executions.sandbox.outward import start_frame
from forge_project.kernel.errors import Invalid, TooLarge
from tests.unit.sandbox.driving import NOW, drive, start


@pytest.mark.parametrize("value", ["\ud800", {"a": float("nan")}, 2**53, {"\udfff": 1}, {1: 2}, b"x", float("inf")])
def test_a_result_that_is_no_json_is_refused_before_it_crosses(value):
    with pytest.raises(Invalid):
        refuse_result(value, Limits())


def test_depth_and_size_of_a_result():
    deep = []
    for _ in range(199):
        deep = [deep]
    refuse_result(deep, Limits())
    with pytest.raises(Invalid):
        refuse_result([deep], Limits())
    refuse_result("x" * 98, Limits(result_bytes=100))
    with pytest.raises(TooLarge) as caught:
        refuse_result("é" * 20, Limits(result_bytes=100))
    assert (caught.value.code, caught.value.facts["bytes"]) == ("RESULT_LIMIT", 122)


def test_a_start_that_fits_no_frame_is_refused():
    with pytest.raises(TooLarge):
        start_frame(start("", input="x" * (9 << 20)))
    with pytest.raises(Invalid):
        start_frame(start("\ud800"))
    with pytest.raises(Invalid):
        start_frame(start("", input={"a": float("nan")}))


PAYLOAD = f'{{"results":[],"catalog":[],"grant":0,"now":{NOW}}}'


@pytest.mark.parametrize(
    "sent",
    [
        wire.frame("settle", 2, PAYLOAD),
        wire.frame("settle", 0, PAYLOAD),
        wire.frame("start", 1, PAYLOAD),
        wire.frame("start", 0, start_frame(start("return 2"))[4:].decode()),
        wire.frame("hello", 1, PAYLOAD),
        wire.frame("settle", 1, PAYLOAD[:-1] + ',"extra":1}'),
        wire.frame("settle", 1, '{"results":[],"catalog":[],"grant":0,"then":1}'),
    ],
)
def test_a_guest_refuses_what_is_not_the_next_settle(zygote, sent):
    guest = zygote.spawn(start("await sleep(1); return 1"))
    assert isinstance(guest.receive(deadline=time.monotonic() + 5), Turn)
    guest._channel.send(sent)
    guest._settled = True
    assert guest.receive(deadline=time.monotonic() + 5).code == "PROTOCOL_VIOLATION"
    assert guest.kill()


def test_late_doubled_and_unknown_results_are_ignored(zygote):
    guest = zygote.spawn(start("const a = tools.call('a'), b = tools.call('b'); return [await a, await b]"))
    guest.receive(deadline=time.monotonic() + 5)
    guest.settle([Settled(n=1, value="first"), Settled(n=1, value="again"), Settled(n=99)], grant=1, now=NOW)
    guest.receive(deadline=time.monotonic() + 5)
    guest.settle([Settled(n=1, value="late"), Settled(n=2, value=None)], grant=1, now=NOW)
    done = drive(guest)
    guest.kill()
    assert done.value == ["first", None]
