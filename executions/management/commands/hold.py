"""`manage.py hold [--caller NAME | --workspace NAME | --capability NAME] --reason WHY`: nothing new is dispatched."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management import holding
from executions.management.refusals import refusals
from executions.services.hold import PlaceHold, hold


class Command(BaseCommand):
    help = "Holds everything, or what one caller, workspace or capability does: what began finishes, the rest waits."

    def add_arguments(self, parser: CommandParser) -> None:
        holding.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            row = hold(PlaceHold(**holding.meant(options)))
        self.stdout.write(f"held: {row}")
