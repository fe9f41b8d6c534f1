"""`python -m tests.chaos.kill9 --executions 200 --steps 5 --json`: a real worker is killed -9 in the middle of it all.

Submitted with no worker; a worker starts and is killed at 20 markers; two more start, and the clock runs from their
first heartbeat until everything has settled. What happened is counted in the marker file, from outside.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import sites

SOURCE = """
for (let step = 1; step <= input.steps; step++) {
  for (;;) {
    try { await tools.call('tests.marker', {text: input.id + ':' + step}); break; }
    catch (e) { if (e.code !== 'INTERRUPTED') throw e; }  // not applied, says the record: asked anew
  }
}
return input.steps;
"""
KILL_AT = 20
CALLERS = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=200)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--limit", type=float, default=120, help="seconds before what is open counts as lost")
    parser.add_argument("--bar", type=float, default=15, help="seconds it may take to settle")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="forge-kill9-") as folder, sites.fresh(Path(folder)) as site:
        marker = Path(folder) / "marker"
        site.env["FORGE_TEST_MARKER"] = str(marker)
        seen = _run(site, marker, asked)
        seen["findings"] = len(json.loads(site.manage("ledger_verify", "--json", check=False).stdout)["findings"])
    print(json.dumps(seen) if asked.json else "\n".join(f"{name}: {value}" for name, value in seen.items()))
    settled_in_time = seen["settled_s"] <= asked.bar or "sqlite" in site.database_url
    return 0 if seen["duplicates"] == seen["lost"] == seen["findings"] == 0 and settled_in_time else 1


def _run(site: sites.Site, marker: Path, asked: argparse.Namespace) -> dict:
    hand = sites.Hand(site)
    callers = [f"caller{n}" for n in range(CALLERS)]
    hand.do("setup")
    hand.do("agents", names=callers)
    for n in range(asked.executions):
        body = {"source": SOURCE, "input": {"id": f"e{n}", "steps": asked.steps}, "interruption": "resume"}
        body["timeout_ms"] = 600_000
        hand.do("submit", caller=callers[n % CALLERS], key=f"k{n}", body=body)
    _say(f"{asked.executions} submitted by {CALLERS} callers")
    first = site.worker()
    _wait(lambda: len(_lines(marker)) >= KILL_AT, 60, "no markers")
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    _say(f"killed at {len(_lines(marker))} markers")
    killed_at = len(_lines(marker))
    before = hand.do("counts")["workers"]
    workers = [site.worker() for _ in range(2)]
    _wait(lambda: hand.do("counts")["workers"] > before, 60, "no heartbeat")
    start = time.monotonic()
    try:
        while (counts := hand.do("counts"))["open"] and time.monotonic() - start < asked.limit:
            _say(f"{counts['open']} open")
            time.sleep(0.2)
        settled = time.monotonic() - start
        record = hand.do("record")
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            try:
                worker.wait(40)
            except subprocess.TimeoutExpired:
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
        hand.close()
    lines = Counter(line.split(" ", 1)[1] for line in _lines(marker))
    applied = Counter(record["applied"])
    disagree = sum((lines - applied).values()) + sum((applied - lines).values())
    return {
        "duplicates": sum(count - 1 for count in lines.values() if count > 1),
        "lost": counts["open"] + disagree,
        "unknown": record["statuses"].get("unknown", 0),
        "settled_s": round(settled, 2),
        "killed_at": killed_at,
        "markers": sum(lines.values()),
        "statuses": record["statuses"],
        "resumed": record["resumed"],
    }


def _lines(marker: Path) -> list[str]:
    return marker.read_text().splitlines() if marker.exists() else []


def _wait(condition, seconds: float, complaint: str) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise SystemExit(complaint)
        time.sleep(0.02)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
