"""`manage.py reconcile [--dry-run] [--quarantined] [--json]`: settles what dead workers left; exit 1: see to it."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from executions.services.reconcile_once import reconcile_once


class Command(BaseCommand):
    help = "Looks at every execution whose worker is gone and says what happened. Safe while everything runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would be settled")
        parser.add_argument("--quarantined", action="store_true", help="try those again that were put aside")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
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
