"""`manage.py ledger_checkpoint [--every SECONDS [--events N]] [--json]`: signs all heads that moved, and sends them."""

import json
import signal
import sys
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from forge_project.kernel.errors import ForgeError
from forge_project.ledger import checkpoints, signing
from forge_project.ledger.keeping import Cadence, keep


class Command(BaseCommand):
    help = "Signs a checkpoint of every chain that grew since the last one, and sends it to FORGE_CHECKPOINT_SINK."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--every", type=float, help="go on, once in so many seconds, until SIGTERM or Ctrl-C")
        parser.add_argument("--events", type=int, default=10_000, help="with --every: or after so many events")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["every"] is None:
            self._once(options["json"])
            return
        if options["every"] <= 0 or options["events"] <= 0:
            raise CommandError("--every and --events are more than 0", returncode=2)
        try:
            signing.signer()
        except ForgeError as error:
            raise CommandError(error.message, returncode=2) from None
        stopped = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopped.set())
        keep(Cadence(seconds=options["every"], events=options["events"]), stopped, self._say)

    def _once(self, as_json: bool) -> None:
        with tqdm(unit="chain", disable=None, file=sys.stderr, leave=False) as bar:
            try:
                made = checkpoints.take(progress=bar.update)
            except ForgeError as error:
                code = 2 if error.facts.get("part") == "key" else 1
                raise CommandError(error.message, returncode=code) from None
        if as_json:
            self.stdout.write(json.dumps({"checkpoints": made}))
        elif made:
            self.stdout.write(f"checkpoint {', '.join(map(str, made))}")
        else:
            self.stdout.write("nothing moved since the last checkpoint")

    def _say(self, line: str) -> None:
        self.stdout.write(f"forge: {line}")
        self.stdout.flush()
