"""`manage.py ledger_verify [--invocation REF] [--json]`: exit 1 and the places where the ledger is broken."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from forge_project.ledger.models import Event
from forge_project.ledger.verify import verify


class Command(BaseCommand):
    help = "Checks the hash chain of every event and says where it is broken."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--invocation", help="check one invocation only")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        one = options["invocation"]
        total = Event.objects.filter(**({"invocation_id": one} if one else {})).count()
        with tqdm(total=total, unit="event", disable=None, file=sys.stderr, leave=False) as bar:
            report = verify(one, progress=bar.update)
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
