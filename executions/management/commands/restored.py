"""`manage.py restored [--actor NAME] [--json]`: says that the database was restored from a backup; dispatches go on."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from executions.management.refusals import refusals
from executions.services.restored import restored
from forge_project.kernel import actors


class Command(BaseCommand):
    help = "For a database older than its checkpoints' sink: settles, sets aside what may have gone on, and goes on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--actor", default="", help="who is answerable; this account's name otherwise")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals(), tqdm(unit="execution", disable=None, file=sys.stderr, leave=False) as bar:
            done = restored(options["actor"] or actors.shell(), progress=bar.update)
        if options["json"]:
            self.stdout.write(json.dumps(asdict(done)))
        elif done.checkpoint is None:
            self.stdout.write("the database is not older than its sink: nothing to do")
        else:
            for ref in done.set_aside:
                self.stdout.write(f"{ref}: set aside, it had gone further than this database knows")
            self.stdout.write(f"checkpoint {done.checkpoint} goes on; {done.settled} executions were settled")
