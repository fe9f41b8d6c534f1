"""`manage.py doctor [--json]`: looks at everything a set-up needs; exit 1 if something fails."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from tqdm import tqdm

from executions.services.doctor.examine import COUNT, examine


class Command(BaseCommand):
    help = "Checks everything Forge needs here and says how to mend what is wrong."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        looks = tqdm(examine(), total=COUNT, unit="look", disable=None, file=sys.stderr, leave=False)
        found = [finding for look in looks for finding in look]
        if options["json"]:
            self.stdout.write(json.dumps([finding.json() for finding in found]))
        else:
            for one in found:
                self.stdout.write(f"{one.grade:4}  {one.part:10}  {one.said}")
                if one.mend:
                    self.stdout.write(f"{'':16}  -> {one.mend}")
        if any(one.grade == "fail" for one in found):
            sys.exit(1)
