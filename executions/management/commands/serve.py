"""`manage.py serve [--bind HOST:PORT]`: web and worker in one supervised group; Ctrl-C drains."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management.refusals import refusals
from executions.services.serving.serve import prepare, serve


class Command(BaseCommand):
    help = "Serves the admin and the API and runs a worker, until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bind", default="127.0.0.1:8000", help="HOST:PORT (port 0: any free one) or fd://N")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            listener = prepare(options["bind"], self._say)
        code = serve(listener, self._say)
        if code:
            sys.exit(code)

    def _say(self, line: str) -> None:
        self.stdout.write(f"forge: {line}")
        self.stdout.flush()
