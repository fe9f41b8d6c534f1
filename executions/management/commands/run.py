"""`manage.py run FILE.js --caller NAME --workspace NAME [--input JSON] [--key KEY] [--follow]`."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from executions.management import following
from executions.management.refusals import USAGE, refusals
from forge_project.kernel import strict_json


class Command(BaseCommand):
    help = "Submits a script in an agent's name; with --follow shows what it does and exits 1 unless it succeeds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the script; - reads standard input")
        parser.add_argument("--input", help="JSON, the script's `input`")
        following.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        body: dict[str, Any] = {"source": _source(options["file"])}
        with refusals():
            body |= {"input": strict_json.loads(options["input"])} if options["input"] is not None else {}
        following.send(body, "run", options, self.stdout)


def _source(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"can't read {name}: {error}", returncode=USAGE) from None
