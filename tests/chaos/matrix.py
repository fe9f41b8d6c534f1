"""`python -m tests.chaos.matrix --json`: the crash matrix by SIGKILL, each case by processes that die at its failpoint.

On the database that FORGE_TEST_DATABASE_URL names, else on a temporary SQLite.
"""

import argparse
import json
import random
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from tests import matrix, sites

PROPOSAL = "artifact.patch-proposal.materialize"
QUICK = {"FORGE_CAPABILITIES": "tests.marker,tests.modes", "FORGE_LINGER_MS": "0"}


class Nursery(sites.Hand):
    """Commands run in children that may be killed; `die` asks that this one is, at that failpoint."""

    module = "tests.chaos.nursery"

    def run(self, name: str, **asked) -> dict:
        done = self.do(name, **asked)
        if done["code"] != 0:
            raise SystemExit(f"{name} ended with {done['code']}")
        return done["answer"]

    def die(self, point: str, name: str, **asked) -> None:
        done = self.do(name, failpoints=f"{point}=kill", **asked)
        if done["code"] != -signal.SIGKILL:
            raise SystemExit(f"{name} was to die at {point}, and ended with {done['code']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", choices=matrix.POINTS, help="this failpoint only")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so long (0: all cases), drawn at random")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    began = time.monotonic()
    with TemporaryDirectory(prefix="forge-matrix-") as folder, sites.fresh(Path(folder), **QUICK) as site:
        world = matrix.World(Path(folder))
        site.env["FORGE_TEST_MARKER"] = str(world.marker)
        hand = Nursery(site)
        hand.run("setup")
        hand.run("workspace", path=str(world.folder))
        for glob in ("modes.*", "patch.*"):
            hand.run("allow", capability=glob)
        cases = [case for case in matrix.cases() if asked.point in (None, case.point)]
        if asked.seconds:
            random.shuffle(cases)
        wrong, done = [], 0
        for case in tqdm(cases, unit="case", disable=None, file=sys.stderr, leave=False):
            if asked.seconds and time.monotonic() - began > asked.seconds:
                break
            wrong += [f"{case.key}: {problem}" for problem in _one(hand, world, case)]
            done += 1
        hand.close()
        findings = len(json.loads(site.manage("ledger_verify", "--json", check=False).stdout)["findings"])
        findings += site.manage("ledger_rebuild", "--check", check=False).returncode
        kind = "sqlite" if "sqlite" in site.database_url else "postgres"
    for problem in wrong:
        print(problem, file=sys.stderr)
    counts = {word: sum(f": {word}:" in problem for problem in wrong) for word in ("duplicate", "lost")}
    seen = {
        "name": "crash.matrix",
        "cases": done,
        "of": len(cases),
        "duplicates": counts["duplicate"],
        "lost": counts["lost"],
    }
    seen |= {"wrong": len(wrong), "findings": findings, "db": kind, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps(seen) if asked.json else "\n".join(f"{name}: {value}" for name, value in seen.items()))
    return 0 if not wrong and not findings else 1


def _one(hand: Nursery, world: matrix.World, case: matrix.Case) -> list[str]:
    submitted = {"key": case.key, "body": case.body(_proposal(hand, case))}
    if case.point in matrix.ACCEPT:
        hand.die(case.point, "submit", **submitted)
    ref = hand.run("submit", **submitted)["ref"]
    if case.kind.approved:
        hand.run("work")
        assert hand.run("approve", ref=ref)["approved"]
    early = []
    if case.point not in matrix.ACCEPT:
        hand.die(case.first_death, "work")
        seen = hand.run("look", key=case.key)
        if world.effects(case, seen["operation"], seen["artifacts"]) and not seen["dispatches"]:
            early = ["lost: an effect came before its T1"]
    if case.point == "reconcile.middle":
        hand.die(case.point, "work")
    hand.run("work")
    seen = hand.run("look", key=case.key)
    wrong = early + matrix.problems(case, seen, world.effects(case, seen["operation"], seen["artifacts"]))
    ended = (seen["status"], seen["error"])
    return wrong + ([] if ended == matrix.expected(case) else [f"it ended as {ended}"])


def _proposal(hand: Nursery, case: matrix.Case) -> str:
    if case.kind.capability != "patch.apply":
        return ""
    body = {"capability": PROPOSAL, "input": {"diff": case.diff}, "workspace": "ws"}
    ref = hand.run("submit", key=f"{case.key}_proposal", body=body)["ref"]
    hand.run("work")
    return hand.run("proposal", ref=ref)["artifact"]


if __name__ == "__main__":
    raise SystemExit(main())
