"""`manage.py release [--caller NAME | --workspace NAME | --capability NAME] --reason WHY`: what was held goes on."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management import holding
from executions.management.refusals import refusals
from executions.services.hold import ReleaseHold, release


class Command(BaseCommand):
    help = "Ends a hold: everything, or of one caller, workspace or capability."

    def add_arguments(self, parser: CommandParser) -> None:
        holding.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            row = release(ReleaseHold(**holding.meant(options)))
        self.stdout.write(f"released: {row}")
