"""`manage.py ledger_checkpoint [--every SECONDS] [--json]`: signs all heads that moved and sends them to the sink."""

import json
import sys
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from forge_project.kernel.errors import ForgeError
from forge_project.ledger import checkpoints


class Command(BaseCommand):
    help = "Signs a checkpoint of every chain that grew since the last one, and appends it to FORGE_CHECKPOINT_SINK."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, help="go on, once in so many seconds")
        parser.add_argument("--json", action="store_true", help="one JSON object a run instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        while True:
            self._once(options["json"])
            if not options["every"]:
                return
            time.sleep(options["every"])

    def _once(self, as_json: bool) -> None:
        with tqdm(unit="chain", disable=None, file=sys.stderr, leave=False) as bar:
            try:
                made = checkpoints.take(progress=bar.update)
            except ForgeError as error:
                raise CommandError(error.message, returncode=2) from None
        if as_json:
            self.stdout.write(json.dumps({"checkpoints": made}))
        elif made:
            self.stdout.write(f"checkpoint {', '.join(map(str, made))}")
        else:
            self.stdout.write("nothing moved since the last checkpoint")
