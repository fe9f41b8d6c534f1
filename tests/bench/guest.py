"""Figures of the sandbox: `python -m tests.bench.guest` prints one JSON line each (medians; processes are real)."""

import json
import statistics
import time
from pathlib import Path

from executions.sandbox import Complete, Turn, Zygote
from tests.unit.sandbox.driving import drive, start

ROUNDS = 200
CALLS = 1000
REGEX = "/^(a+)+$/.test('a'.repeat(40)+'b')"


def show(name, value, unit, bar):
    print(json.dumps({"name": name, "value": round(value, 2), "unit": unit, "bar": bar}), flush=True)


def starts(zygote):
    """Request to result of `return 1`, and until the process is reaped."""
    to_result, to_reaped = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        guest = zygote.spawn(start("return 1"))
        end = guest.receive(deadline=time.monotonic() + 5)
        to_result.append(time.perf_counter() - began)
        assert guest.kill()
        to_reaped.append(time.perf_counter() - began)
        assert isinstance(end, Complete)
    show("guest.start_ms", statistics.median(to_result) * 1e3, "ms", 3)
    show("guest.start_reaped_ms", statistics.median(to_reaped) * 1e3, "ms", None)


def calls(zygote, name, source, bar):
    """Microseconds a call of 1,000, of what the script takes beyond an empty one."""
    took = []
    for _ in range(7):
        guest = zygote.spawn(start(source, max_calls=CALLS, in_flight=64, cpu_ms=60_000))
        began = time.perf_counter()
        assert drive(guest).value == CALLS
        took.append(time.perf_counter() - began)
        guest.kill()
    show(name, statistics.median(took) / CALLS * 1e6, "us", bar)


def cancels(zygote):
    """Kill to reaped, in the middle of regular expression backtracking."""
    took = []
    for _ in range(30):
        guest = zygote.spawn(start(REGEX))
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
        began = time.perf_counter()
        assert guest.kill()
        took.append(time.perf_counter() - began)
    show("guest.cancel_ms", statistics.median(took) * 1e3, "ms", 5)


def memory(zygote):
    """Proportional set size of a guest that waits, among nine others."""
    guests = [zygote.spawn(start("await sleep(1000)")) for _ in range(10)]
    sizes = []
    for guest in guests:
        assert isinstance(guest.receive(deadline=time.monotonic() + 5), Turn)
    for guest in guests:
        lines = Path(f"/proc/{guest.pid}/smaps_rollup").read_text().splitlines()
        sizes.append(next(int(line.split()[1]) for line in lines if line.startswith("Pss:")))
    for guest in guests:
        guest.kill()
    show("guest.pss_mb", statistics.median(sizes) / 1024, "MB", 3)


def main():
    zygote = Zygote.start()
    try:
        starts(zygote)
        sequential = f"let n = 0; for (let i = 0; i < {CALLS}; i++) {{ await tools.call('t', {{i}}); n++ }} return n"
        calls(zygote, "guest.call_seq_us", sequential, 110)
        together = (
            f"return (await Promise.all(Array.from({{length: {CALLS}}}, (_, i) => tools.call('t', {{i}})))).length"
        )
        calls(zygote, "guest.call_all_us", together, 20)
        cancels(zygote)
        memory(zygote)
    finally:
        zygote.close()


if __name__ == "__main__":
    main()
