"""`manage.py ledger_rebuild [--check] [--invocation REF] [--json]`: rows put back to what their events tell."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from executions.management.refusals import PROBLEM, USAGE
from executions.models import Execution
from executions.services.rebuild.compare import Difference, loads, settled_differences, told_of
from executions.services.rebuild.repair import repair, repair_loads


class Command(BaseCommand):
    help = (
        "Rebuilds executions, calls and approvals from the ledger's events and puts back what differs; exit 1 where "
        "something differs (--check) or can't be put back. Stop the workers first, unless you only check."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="change nothing, only compare")
        parser.add_argument("--invocation", help="one execution only")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        one = options["invocation"]
        refs = [one] if one else told_of()
        if one and not Execution.objects.filter(pk=one).exists() and one not in told_of():
            raise CommandError("no such execution", returncode=USAGE)
        back: list[Difference] = []
        left: list[Difference] = []
        with tqdm(total=len(refs), unit="execution", disable=None, file=sys.stderr, leave=False) as bar:
            if options["check"]:
                left += settled_differences(refs, bar.update)
            else:
                for ref in refs:
                    done = repair(ref)
                    back, left = back + done.back, left + done.left
                    bar.update()
        counts = [] if one else list(loads())
        if options["check"]:
            left += [count for count in loads() if count in counts] if counts else []  # twice: work may be going on
        else:
            repair_loads(counts)
            back += counts
        self._say(len(refs), back, left, as_json=options["json"])
        if left:
            sys.exit(PROBLEM)

    def _say(self, executions: int, back: list[Difference], left: list[Difference], *, as_json: bool) -> None:
        if as_json:
            told = {"differences": [asdict(one) for one in left], "put_back": [asdict(one) for one in back]}
            self.stdout.write(json.dumps({"executions": executions} | told))
            return
        for verb, found in (("put back", back), ("differs", left)):
            for one in found:
                where = f"{one.table} {one.row} {one.column}".rstrip()
                self.stdout.write(f"{verb}: {where}: {one.live!r} in the row, {one.rebuilt!r} by the events")
        self.stdout.write(f"{executions} executions rebuilt, {len(back)} put back, {len(left)} differ")
