"""`python -m tests.bench.guest`: start, tool round trips, cancel, memory, throughput of real guests, and a peer."""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from executions.sandbox import Complete, Turn, Zygote
from tests.bench import figure as plain
from tests.bench import peer
from tests.unit.sandbox.driving import drive, start

CALLS = 1000
SEQUENTIAL = f"let n = 0; for (let i = 0; i < {CALLS}; i++) {{ await tools.call('t', {{i}}); n++ }} return n"
TOGETHER = f"return (await Promise.all(Array.from({{length: {CALLS}}}, (_, i) => tools.call('t', {{i}})))).length"
STARTS = 400
PEERS: dict[str, float] = {}
BACKTRACKING = "/^(a+)+$/.test('a'.repeat(40)+'b')"


def figure(name: str, value: float, unit: str, bar: str) -> None:
    """One line, with the peer's value where there is one."""
    more = {"peer": {peer.PEER: round(PEERS[name], 3)}} if name in PEERS else {}
    plain(name, value, unit, bar, **more)


def starts(zygote: Zygote) -> None:
    """Request to result of `return 1`, and until the process is reaped."""
    to_result, to_reaped = [], []
    for _ in range(200):
        began = time.perf_counter()
        guest = zygote.spawn(start("return 1"))
        assert isinstance(guest.receive(deadline=time.monotonic() + 5), Complete)
        to_result.append(time.perf_counter() - began)
        assert guest.kill()
        to_reaped.append(time.perf_counter() - began)
    figure("guest.start_ms", statistics.median(to_result) * 1000, "ms", "<= 3")
    figure("guest.start_reaped_ms", statistics.median(to_reaped) * 1000, "ms", "")


def calls(zygote: Zygote, name: str, source: str, bar: str) -> None:
    """Microseconds a call, of 1,000, with an echo for a tool and no database."""
    taken = []
    for _ in range(7):
        guest = zygote.spawn(start(source, max_calls=CALLS, in_flight=64, cpu_ms=60_000))
        began = time.perf_counter()
        assert drive(guest).value == CALLS
        taken.append(time.perf_counter() - began)
        assert guest.kill()
    figure(name, statistics.median(taken) / CALLS * 1e6, "us", bar)


def cancels(zygote: Zygote) -> None:
    """Kill to reaped, in the middle of regular expression backtracking."""
    taken = []
    for _ in range(30):
        guest = zygote.spawn(start(BACKTRACKING))
        while guest.usage.cpu_ms < 10:  # in the thick of it
            pass
        began = time.perf_counter()
        assert guest.kill()
        taken.append(time.perf_counter() - began)
    figure("guest.cancel_ms", statistics.median(taken) * 1000, "ms", "<= 5")


def memory(zygote: Zygote) -> None:
    """Proportional set size of a guest that waits, among nine others."""
    guests = [zygote.spawn(start("await sleep(1000)")) for _ in range(10)]
    assert all(isinstance(guest.receive(deadline=time.monotonic() + 5), Turn) for guest in guests)
    rollups = [Path(f"/proc/{guest.pid}/smaps_rollup").read_text().splitlines() for guest in guests]
    sizes = [int(line.split()[1]) for lines in rollups for line in lines if line.startswith("Pss:")]
    figure("guest.pss_mb", statistics.median(sizes) / 1024, "MB", "<= 3")
    assert all(guest.kill() for guest in guests)


def throughput(zygote: Zygote) -> None:
    """Whole lives of `return 1` a second, reaped, eight at a time."""

    def live(_: int) -> None:
        guest = zygote.spawn(start("return 1"))
        assert isinstance(guest.receive(deadline=time.monotonic() + 5), Complete)
        assert guest.kill()

    with ThreadPoolExecutor(8) as pool:
        began = time.perf_counter()
        list(pool.map(live, range(STARTS)))
        figure("guest.throughput_s", STARTS / (time.perf_counter() - began), "1/s", "")


def main() -> None:
    """Each figure once; the engine and the hardening are the real ones."""
    PEERS.update(peer.figures())
    zygote = Zygote.start()
    try:
        starts(zygote)
        calls(zygote, "guest.call_seq_us", SEQUENTIAL, "<= 110")
        calls(zygote, "guest.call_all_us", TOGETHER, "<= 20")
        cancels(zygote)
        memory(zygote)
        throughput(zygote)
    finally:
        zygote.close()


if __name__ == "__main__":
    main()
