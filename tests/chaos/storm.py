"""`python -m tests.chaos.storm --executions 1000 --kills 200 --json`: SIGKILLs at random under mixed load.

Scripts with effects, approvals that a person answers, cancels; submitted over HTTP, each message sent twice; workers,
guests, zygotes and the web are killed; the database is restarted, the broker stopped, the wall clock turned. What
happened is counted from outside. `--seconds` bounds the storm: then there are as many kills as there was time for.
"""

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from tests import environment, sites
from tests.chaos import mix, services
from tests.chaos.processes import Processes
from tests.chaos.stillness import Stillness

CALLERS, SUBMITTERS = 25, 6
SETTLE_SECONDS = 900.0
_AHEAD = 0.08  # of the load that may wait for the workers
_OVER = threading.Event()


class Steady:
    """A hand that is made anew when the database broke off under it."""

    def __init__(self, site: sites.Site) -> None:
        self._site, self._hand = site, sites.Hand(site, stderr=subprocess.DEVNULL)

    def do(self, name: str, **asked) -> dict:
        for _ in range(20):
            try:
                return self._hand.do(name, **asked)
            except (AssertionError, OSError, ValueError):
                time.sleep(0.5)
                with suppress(Exception):
                    self._hand.close()
                with suppress(AssertionError):
                    self._hand = sites.Hand(self._site, stderr=subprocess.DEVNULL)
        raise SystemExit(f"{name}: no database for ten tries")


def post(url: str, path: str, token: str, asked: dict, **headers: str) -> tuple[int, dict]:
    """(status, answer); (0, {}) while the web is down."""
    link = HTTPConnection(url.removeprefix("http://"), timeout=10)
    sent = {"Authorization": f"Token {token}", "Content-Type": "application/json"} | headers
    try:
        link.request("POST", f"/api/v1/{path}", json.dumps(asked), sent)
        answer = link.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")
    except (OSError, HTTPException, ValueError):
        return 0, {}
    finally:
        link.close()


class Load:
    """Submitters that ask again with the same key until they are answered; what was accepted is what counts."""

    def __init__(self, processes: Processes, tokens: dict[str, str], total: int, bar: tqdm) -> None:
        self._processes, self._tokens, self._total, self._bar = processes, tokens, total, bar
        self._next, self._lock = 0, threading.Lock()
        self.share = 0.0  # of the storm that is over: the load lasts as long as the kills
        self.accepted: dict[str, str] = {}
        self.wrong: list[str] = []
        self.threads = [threading.Thread(target=self._submit) for _ in range(SUBMITTERS)]

    def _submit(self) -> None:
        while not _OVER.is_set():
            with self._lock:
                n, self._next = self._next, self._next + 1
            if n >= self._total:
                return
            while n / self._total > self.share + _AHEAD and not _OVER.is_set():
                time.sleep(0.02)
            self._one(n)
            self._bar.update()

    def _one(self, n: int) -> None:
        token, key = self._tokens[f"caller{n % CALLERS}"], f"k{n}"
        while not _OVER.is_set():
            status, answer = post(self._processes.url, "executions/", token, mix.body(n), **{"Idempotency-Key": key})
            if status in (200, 202):
                self.accepted[key] = answer["execution_ref"]
                break
            if status not in (0, 429, 500, 503):
                self.wrong.append(f"{key}: {status} {answer}")
                return
            time.sleep(0.1)
        if mix.kind_of(n) == mix.CANCELLED and key in self.accepted:
            time.sleep(random.random())
            post(self._processes.url, f"executions/{self.accepted[key]}/cancel/", token, {"reason": "storm"})


def faults(kills: int, postgres, redis, skew: Path) -> dict[int, tuple[str, object]]:
    """What else goes wrong, and before which kill."""

    def broker_away() -> None:
        redis.stop()
        time.sleep(5)
        redis.start()

    found: dict[int, tuple[str, object]] = {}
    if postgres is not None:
        found[kills // 4] = ("database restarted", postgres.restart)
    if redis is not None:
        found[kills // 2] = ("broker away for 5 s", broker_away)
    found[kills * 5 // 8] = ("clock 300 s ahead", lambda: skew.write_text("300"))
    found[kills * 7 // 8] = ("clock back again", lambda: skew.write_text("0"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=0, help="at most so long, settling apart (0: no bound)")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    asked.seed = random.randrange(10**9) if asked.seed is None else asked.seed
    own_database = bool(environment.DATABASE_URL) and services.postgres_there()
    own_broker = environment.BROKER_URL.startswith("redis") and services.redis_there()
    postgres = services.Postgres() if own_database else None
    redis = services.Redis() if own_broker else None
    with services.closing_all(postgres, redis), TemporaryDirectory(prefix="forge-storm-") as folder:
        environment.DATABASE_URL = postgres.url if postgres else environment.DATABASE_URL
        environment.BROKER_URL = redis.url if redis else environment.BROKER_URL
        with sites.fresh(Path(folder)) as site:
            seen = _storm(site, Path(folder), asked, postgres, redis)
            sites.drop_template()
    print(json.dumps(seen) if asked.json else "\n".join(f"{name}: {value}" for name, value in seen.items()))
    wrong = ("duplicates", "lost", "stuck", "findings", "refused")
    return 0 if all(seen[name] == 0 for name in wrong) else 1


def _storm(site: sites.Site, base: Path, asked: argparse.Namespace, postgres, redis) -> dict:
    outside, skew = mix.Outside(base), base / "skew"
    site.env |= {"FORGE_TEST_MARKER": str(outside.marker), "FORGE_TEST_SKEW": str(skew)}
    site.env |= {"FORGE_CAPABILITIES": "tests.marker,tests.skew"}
    hand, names = Steady(site), [f"caller{n}" for n in range(CALLERS)]
    hand.do("setup")
    hand.do("agents", names=names)
    hand.do("workspace", path=str(outside.folder))
    hand.do("grant", names=names)
    tokens = hand.do("tokens", names=names)
    processes = Processes(site)
    processes.wait_ready()
    chance, did, stillness = random.Random(asked.seed), [], Stillness()
    with tqdm(total=asked.executions, unit="execution", disable=None, file=sys.stderr, leave=False) as bar:
        load = Load(processes, tokens, asked.executions, bar)
        helpers = [threading.Thread(target=_keep, args=(site, name)) for name in ("decide_all", "hint")]
        helpers.append(threading.Thread(target=_watch, args=(site, stillness)))
        for thread in (*load.threads, *helpers):
            thread.start()
        began = time.monotonic()
        _kill(processes, load, asked, chance, faults(asked.kills, postgres, redis, skew), did)
        processes.revive()
        for thread in load.threads:
            thread.join(120)
    lasted = time.monotonic() - began
    settled = _settle(hand, stillness, processes)
    _OVER.set()
    for thread in helpers:
        thread.join(30)
    processes.stop()
    return _count(site, hand, outside, load, stillness) | {
        "kills": sum(processes.killed.values()),
        "killed": processes.killed,
        "faults": did,
        "settled_s": round(settled, 1),
        "storm_s": round(lasted, 1),
        "db": "sqlite" if "sqlite" in site.database_url else "postgres",
        "broker": site.env.get("FORGE_BROKER_URL", "files").partition(":")[0],
        "seed": asked.seed,
    }


def _keep(site: sites.Site, name: str) -> None:
    """A person who answers, or a broker that delivers each message once more."""
    hand = Steady(site)
    while not _OVER.wait(0.2):
        hand.do(name)


def _kill(processes, load, asked, chance, planned, did) -> None:
    until = time.monotonic() + (asked.seconds or 1e9)
    pause = (asked.seconds or 300) / asked.kills * 0.6
    while sum(processes.killed.values()) < asked.kills and time.monotonic() < until:
        at = sum(processes.killed.values())
        for due in [one for one in planned if one <= at]:
            name, do = planned.pop(due)
            do()
            did.append(name)
        load.share = max(at / asked.kills, 1 - (until - time.monotonic()) / (asked.seconds or 1e9))
        processes.kill_one(chance)
        processes.revive()
        time.sleep(chance.uniform(0, 2 * pause))
    load.share = 1.0


def _watch(site: sites.Site, stillness: Stillness) -> None:
    hand = Steady(site)
    while not _OVER.wait(1):
        stillness.look(hand.do("moves")["open"])


def _settle(hand: Steady, stillness: Stillness, processes: Processes) -> float:
    """Until nothing is open but what is stuck; the seconds."""
    began = time.monotonic()
    stillness.look(hand.do("moves")["open"])
    while not stillness.over() and time.monotonic() - began < SETTLE_SECONDS:
        processes.revive()
        time.sleep(0.3)
    return time.monotonic() - began


def _count(site, hand, outside, load, stillness) -> dict:
    still = stillness.stuck | {one["ref"]: f"open: {one['mark']} {one['why']}" for one in hand.do("moves")["open"]}
    effects, applied = outside.effects(), Counter(hand.do("applied")["applied"])
    disagree = sum((effects - applied).values()) + sum((applied - effects).values())
    forgotten = set(load.accepted) - set(hand.do("keys")["keys"])
    for line in (*list(still.items())[:20], *sorted(forgotten), *load.wrong):
        print(f"left: {line}", file=sys.stderr)
    if still:
        print(site.log()[-5000:], file=sys.stderr)
    for name, count in ((effects - applied) + (applied - effects)).items():
        print(f"disagree: {name} {count}: world {effects[name]}, record {applied[name]}", file=sys.stderr)
    findings = len(json.loads(site.manage("ledger_verify", "--json", check=False, timeout=600).stdout)["findings"])
    rebuilt = site.manage("ledger_rebuild", "--check", check=False, timeout=600)
    if rebuilt.returncode:
        print(rebuilt.stdout[-3000:], rebuilt.stderr[-3000:], file=sys.stderr)
    return {
        "name": "chaos.storm",
        "executions": len(load.accepted),
        "duplicates": sum(count - 1 for count in effects.values() if count > 1),
        "lost": disagree + len(forgotten),
        "stuck": len(still),
        "still_s": round(stillness.longest, 1),
        "refused": len(load.wrong),
        "findings": findings + rebuilt.returncode,
        "effects": sum(effects.values()),
        "statuses": hand.do("record")["statuses"],
    }


if __name__ == "__main__":
    raise SystemExit(main())
