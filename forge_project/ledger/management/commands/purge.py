"""`manage.py purge [--days N] [--reason TEXT] [--actor NAME] [--dry-run] [--json]`: retention of sealed invocations."""

import json
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from forge_project.kernel import actors, clock
from forge_project.kernel.errors import ForgeError
from forge_project.ledger import tombstones


class Command(BaseCommand):
    help = "Removes the events of invocations sealed long ago and checkpointed; a signed tombstone stays for each."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=int, default=settings.FORGE_RETENTION_DAYS, help="sealed longer ago")
        parser.add_argument("--reason", default="retention")
        parser.add_argument("--actor", default="", help="who is answerable; this account's name otherwise")
        parser.add_argument("--dry-run", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["days"] < 0:
            raise CommandError("--days is 0 or more", returncode=2)
        before = clock.text(clock.now() - timedelta(days=options["days"]))
        actor = options["actor"] or actors.shell()
        asked = tombstones.Purge(before=before, actor=actor, reason=options["reason"])
        try:
            if options["dry_run"]:
                count = sum(1 for _ in tombstones.due(asked))
            else:
                with tqdm(unit="invocation", disable=None, file=sys.stderr, leave=False) as bar:
                    count = tombstones.purge(asked, progress=lambda _ref: bar.update())
        except ForgeError as error:
            raise CommandError(error.message, returncode=2) from None
        done = "would be removed" if options["dry_run"] else "removed"
        self.stdout.write(json.dumps({"invocations": count}) if options["json"] else f"{count} invocations {done}")
