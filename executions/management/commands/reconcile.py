"""`manage.py reconcile [--dry-run] [--quarantined] [--worker-dead ID] [--json]`: settles what dead workers left.

Exit 1: something is left to see to.
"""

import getpass
import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from executions.management.refusals import refusals
from executions.services.declare_dead import declare_dead
from executions.services.reconcile_once import reconcile_once


class Command(BaseCommand):
    help = "Looks at every execution whose worker is gone and says what happened. Safe while everything runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be settled")
        parser.add_argument("--quarantined", action="store_true", help="try those again that were put aside")
        parser.add_argument("--worker-dead", metavar="ID", help="says that this worker, of another host, is dead")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["worker_dead"]:
            with refusals():
                declare_dead(options["worker_dead"], actor=f"os:{getpass.getuser()}")
        with tqdm(unit="execution", disable=None, file=sys.stderr, leave=False) as bar:
            again = options["quarantined"]
            done = reconcile_once(dry_run=options["dry_run"], quarantined=again, progress=bar.update)
        if options["json"]:
            self.stdout.write(json.dumps({"found": [asdict(one) for one in done.found], "problem": done.problem}))
        else:
            for one in done.found:
                self.stdout.write(f"{one.ref}: {one.became}")
            self.stdout.write(f"{len(done.found)} executions whose worker is gone")
        if done.problem:
            sys.exit(1)
