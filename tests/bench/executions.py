"""`python -m tests.bench.executions`: a crash's settling, what a parked execution costs, executions a second over HTTP.

By real processes, on PostgreSQL and Redis where FORGE_TEST_DATABASE_URL and FORGE_TEST_BROKER_URL name them.
"""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import sites
from tests.bench import figure
from tests.chaos.processes import Processes
from tests.inotify import Renames
from tests.process.commands import children, guests

LOOP, E2E_SECONDS, PARKED, SAMPLES = 8, 15.0, 1000, 20
READS = "return (await tools.call('file.read', {path: 'a'})).content.length"
ASKS = "return (await tools.call('file.write', {path: input, content: 'new'})).path"
_TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    crash()
    with TemporaryDirectory(prefix="forge-bench-") as folder, _site(Path(folder)) as (site, hand, processes):
        e2e(site, hand, processes)
    with TemporaryDirectory(prefix="forge-bench-") as folder, _site(Path(folder)) as (site, hand, processes):
        parked(site, hand, processes, Path(folder) / "ws")


def _db(site: sites.Site) -> str:
    return "postgresql" if site.database_url.startswith("postgres") else "sqlite"


def crash() -> None:
    """200 in flight, five steps with a side effect each, kill -9: seconds until all has settled after the restart."""
    command = [
        sys.executable,
        "-m",
        "tests.chaos.kill9",
        "--executions",
        "200",
        "--steps",
        "5",
        "--json",
        "--bar",
        "120",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    seen = json.loads(done.stdout)
    figure("crash.settled_s", seen["settled_s"], "s", "<= 10", duplicates=seen["duplicates"], lost=seen["lost"])


@contextmanager
def _site(base: Path):
    """A site with one worker and a web, one agent a slot of the loop, and a workspace with one file."""
    (base / "ws").mkdir()
    (base / "ws" / "a").write_text("hello")
    quick = {"FORGE_LINGER_MS": "200", "FORGE_CALLER_PENDING": "5000", "FORGE_CALLER_QUEUED": "5000"}
    with sites.fresh(base, **quick) as site:
        hand, names = sites.Hand(site), [f"agent{n}" for n in range(LOOP)]
        hand.do("setup")
        hand.do("agents", names=names)
        hand.do("workspace", path=str(base / "ws"))
        hand.do("grant", names=names)
        processes = Processes(site, workers=1)
        processes.wait_ready()
        try:
            yield site, hand, processes
        finally:
            hand.close()
            processes.stop()


def e2e(site: sites.Site, hand: sites.Hand, processes: Processes) -> None:
    """HTTP submit, sandboxed script with one read, done: a closed loop of eight."""
    tokens = hand.do("tokens", names=[f"agent{n}" for n in range(LOOP)])
    until, done, wrong = time.monotonic() + E2E_SECONDS + 2, [], []

    def submit(token: str) -> None:
        link = HTTPConnection("127.0.0.1", processes.port, timeout=60)
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        body = json.dumps({"source": READS, "workspace": "ws"})
        n = 0
        while time.monotonic() < until:
            n += 1
            link.request("POST", "/api/v1/executions/?wait=20", body, headers | {"Idempotency-Key": f"k{n}"})
            answer = json.loads(link.getresponse().read())
            (done if answer.get("status") == "succeeded" else wrong).append(time.monotonic())

    threads = [threading.Thread(target=submit, args=(token,)) for token in tokens.values()]
    for thread in threads:
        thread.start()
    time.sleep(2)  # the first ones find everything cold
    began, spent, before = time.monotonic(), _cpu(processes), len(done)
    for thread in threads:
        thread.join()
    lasted, count = time.monotonic() - began, len(done) - before
    if wrong:
        raise SystemExit(f"e2e: {len(wrong)} executions did not succeed")
    own = (_cpu(processes) - spent) / count * 1000
    figure("e2e.per_s", count / lasted, "1/s", ">= 100", db=_db(site), cpu_ms=round(own, 2))


def parked(site: sites.Site, hand: sites.Hand, processes: Processes, folder: Path) -> None:
    """A person's answer to the next dispatch, with nothing else parked and with a thousand; bytes and memory of one."""
    renames, worker = Renames(folder), processes.workers[0]
    resumed(site, hand, 1)
    size, memory = hand.do("size")["bytes"], _rss(worker.pid)
    for n in range(PARKED):
        body = {"source": ASKS, "input": f"p{n}", "workspace": "ws", "timeout_ms": 600_000}
        hand.do("submit", caller=f"agent{n % LOOP}", key=f"p{n}", body=body)
    _until(lambda: hand.do("standing").get("waiting_approval", 0) == PARKED, 300)
    figure("parked.kb", (hand.do("size")["bytes"] - size) / PARKED / 1024, "KB", "< 50", db=_db(site))
    _until(lambda: not guests(worker.pid), 30)
    figure("parked.guests", len(guests(worker.pid)), "processes", "0")
    figure("parked.worker_kb", (_rss(worker.pid) - memory) / PARKED, "KB", "flat")
    resumed(site, hand, PARKED)
    while hand.do("decide_all", always=True, limit=200)["decided"]:
        pass
    _until(lambda: set(hand.do("standing")) == {"succeeded"}, 300)
    written = Counter(name for name in renames.names() if not name.startswith("."))
    twice = sum(count != 1 for name, count in written.items())
    figure("parked.twice_or_never", twice + (PARKED + 2 * SAMPLES - len(written)), "effects", "0")


def resumed(site: sites.Site, hand: sites.Hand, others: int) -> None:
    taken = []
    for n in range(SAMPLES):
        body = {"source": ASKS, "input": f"s{others}.{n}", "workspace": "ws"}
        ref = hand.do("submit", key=f"s{others}.{n}", body=body)["ref"]
        hand.until(ref, "waiting_approval")
        taken.append(hand.do("resume", ref=ref)["ms"])
    how = {"db": _db(site), "parked": others}
    figure("parked.resume_ms", statistics.median(taken), "ms", "<= 30", **how)


def _until(condition, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds} s")
        time.sleep(0.2)


def _cpu(processes: Processes) -> float:
    """CPU seconds of the worker and the web so far, with what they have started."""
    pids = [processes.workers[0].pid, *children(processes.web.pid)]
    total = 0.0
    for pid in [*pids, *(child for parent in pids for child in children(parent))]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15])) / _TICK
    return total


def _rss(pid: int) -> float:
    """Kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))


if __name__ == "__main__":
    main()
