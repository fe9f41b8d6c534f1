"""`manage.py policy test FILE`: what policy would say of example requests."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from approvals.selectors import try_examples
from executions.management.refusals import PROBLEM, USAGE, refusals
from forge_project.kernel import strict_json


class Command(BaseCommand):
    help = (
        "Judges the examples of FILE, a JSON list of {caller, workspace, capability, input} with, if wished, "
        "expect (ALLOW, DENY, REVIEW) and rule; ends with 1 where one is not as expected."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["test"])
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            text = options["file"].read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['file']} can't be read: {error}", returncode=USAGE) from None
        with refusals():
            tried = try_examples(strict_json.loads(text))
        for one in tried:
            self.stdout.write(f"{'ok  ' if one.right else 'FAIL'} {one.said}")
        wrong = sum(not one.right for one in tried)
        if wrong:
            raise CommandError(f"{wrong} of {len(tried)} are not as expected", returncode=PROBLEM)
