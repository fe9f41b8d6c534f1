"""`manage.py ledger_verify [--invocation REF] [--against FILE] [--json]`: exit 1 and where it is broken."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from forge_project.kernel.errors import NotReady
from forge_project.ledger.models import Event
from forge_project.ledger.verify import Report, verify


class Command(BaseCommand):
    help = "Checks the hash chain of every event and says where it is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--invocation", help="check one invocation only")
        parser.add_argument("--against", type=Path, help="a sink's file, or receipts as JSON lines")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        one = options["invocation"]
        if one and options["against"]:
            raise CommandError("--against is for the whole ledger", returncode=2)
        total = Event.objects.filter(**({"invocation_id": one} if one else {})).count()
        with tqdm(total=total, unit="event", disable=None, file=sys.stderr, leave=False) as bar:
            report = self._verified(one, bar, options["against"])
        if options["json"]:
            found = [finding.json() for finding in report.findings]
            self.stdout.write(
                json.dumps({"events": report.events, "invocations": report.invocations, "findings": found})
            )
        else:
            for finding in report.findings:
                self.stdout.write(
                    f"{finding.invocation} seq {finding.seq}: {finding.problem} {finding.detail}".rstrip()
                )
            if not report.findings:
                self.stdout.write(f"ledger verified: {report.events} events")
        if report.findings:
            sys.exit(1)

    def _verified(self, one: str | None, bar: "tqdm[Any]", against: Path | None) -> Report:
        try:
            return verify(one, progress=bar.update, against=against)
        except NotReady as error:
            raise CommandError(error.message, returncode=2) from None
