"""`manage.py call CAPABILITY JSON --caller NAME [--workspace NAME] [--key KEY] [--follow]`: one capability request."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management import following
from executions.management.refusals import refusals
from forge_project.kernel import strict_json


class Command(BaseCommand):
    help = "Asks for one capability in an agent's name; with --follow shows what comes of it; exits 1 on failure."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("capability", help="such as file.read; `manage.py capabilities` lists them")
        parser.add_argument("input", help="JSON, as the capability's input schema wants it")
        following.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            body = {"capability": options["capability"], "input": strict_json.loads(options["input"])}
        following.send(body, "call", options, self.stdout)
