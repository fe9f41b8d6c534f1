"""`python -m tests.bench.ledger`: T1 + T2 beside a bare commit of the same run, append at size, verify, import."""

import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import sites
from tests.bench import figure, median_ms

IMPORTED = 100_000


def main() -> None:
    """Makes a site of its own and runs itself there."""
    with TemporaryDirectory() as folder, sites.fresh(Path(folder)) as site:
        child = site.python("tests.bench.ledger", "here", stdout=None, stderr=None)
        if code := child.wait():
            raise SystemExit(code)
        imported(site, Path(folder))


def imported(site: sites.Site, folder: Path) -> None:
    """100,000 events from a file: killed in the middle, run again, nothing twice; seconds and memory of the whole."""
    path = folder / "events.jsonl"
    base = {"session_id": "s", "run_id": "r", "turn_id": "t", "role": "model", "author": "agent"}
    with path.open("w") as file:
        for n in range(IMPORTED):
            said = {"invocation_id": f"import-{n // 1000}", "event_id": f"import-{n}", "ts": n}
            content = {"kind": "text", "text": f"{n} " + "x" * 100}
            file.write(json.dumps(base | said | {"content": content}) + "\n")
    began = time.perf_counter()
    command = site.command("ledger_import", str(path), "--owner", "user:bench", "--json")
    first = site.start(*command, env={"FORGE_FAILPOINTS": "ledger.import:30=kill"})
    first.communicate()
    second = site.start(*command)
    told = second.stdout.read() if second.stdout else ""
    _, status, used = os.wait4(second.pid, 0)
    report = json.loads(told)
    if (first.returncode, status, report["resumed_at"]) != (-9, 0, 29_000):
        raise SystemExit(f"import: {first.returncode} {status} {told[:300]}")
    if (report["created"], report["already"]) != (IMPORTED - 29_000, 0):
        raise SystemExit(f"import: {told[:300]}")
    db = "postgresql" if site.database_url.startswith("postgres") else "sqlite"
    figure("ledger.import_100k_s", time.perf_counter() - began, "s", "", db=db)
    figure("ledger.import_mb", used.ru_maxrss / 1024, "MB", "< 150", db=db)


def here() -> None:
    import django

    django.setup()
    from django.db import connection

    from forge_project.ledger import operations
    from forge_project.ledger.events import fact
    from forge_project.ledger.models import Event
    from forge_project.ledger.operations import Outcome, Tool
    from forge_project.ledger.verify import verify
    from forge_project.ledger.writing import writing
    from tests.db.ledger import identity

    db = connection.vendor
    ones = {name: identity(name) for name in ("t1t2", "grown", "bare")}

    def tool(n: int) -> Tool:
        return Tool(
            operation_id=operations.operation_id("t1t2", str(n)),
            call_id=str(n),
            tool="file.read",
            args={"path": "src/main.py"},
            args_digest="jcs1:hmac-sha256:00:" + "a" * 64,
            recovery_mode="replay_safe",
        )

    def t1t2(n: int) -> None:
        with writing("t1t2", opening=ones["t1t2"] if n == 0 else None) as page:
            operations.request(page, tool(n), new=True)
            operations.prepare(page, tool(n), 1)
        with writing("t1t2") as page:
            operations.outcome(page, tool(n), Outcome(result={"content": "x" * 200}, result_digest="d" * 64))

    def bare(n: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO ledger_tombstone (invocation_id, statement, signature, key_id) VALUES (%s, '', '', '')",
                [f"bare{n}"],
            )

    def append(count: int) -> None:
        with writing("grown", opening=ones["grown"]) as page:
            for _ in range(count):
                page.add(fact("step", note="x" * 80))

    t1t2(0), bare(-1)
    raw = median_ms(bare, 300)
    worked = time.process_time()
    both = median_ms(lambda n: t1t2(n + 1), 500)
    worked = time.process_time() - worked
    figure(
        "ledger.t1t2_ms",
        both,
        "ms",
        "<= 1.2" if db == "sqlite" else "<= 2.0",
        db=db,
        bare_commit_ms=round(raw, 3),
        cpu_ms=round(worked / 500 * 1000, 3),  # of this process: what a busy machine does not make worse
    )
    append(100)

    def appends() -> tuple[float, float]:
        """Milliseconds of one append: by the clock (median), and of this process's own work (mean)."""
        worked = time.process_time()
        by_clock = median_ms(lambda _: append(1), 300)
        return by_clock, time.process_time() - worked

    small, small_work = appends()
    while Event.objects.count() < 100_000:
        append(2000)
    large, large_work = appends()
    figure(
        "ledger.append_ratio_100k", large / small, "ratio", "<= 1.2", db=db, cpu_ratio=round(large_work / small_work, 3)
    )
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ledger_tombstone")
    start, worked = time.perf_counter(), time.process_time()
    report = verify()
    taken, worked = time.perf_counter() - start, time.process_time() - worked
    if report.findings:
        raise SystemExit(f"not clean: {report.findings[:3]}")
    by_cpu = round(report.events / worked)
    figure("ledger.verify_events_s", report.events / taken, "events/s", ">= 50000", db=db, a_cpu_second=by_cpu)


if __name__ == "__main__":
    import sys

    here() if "here" in sys.argv else main()
