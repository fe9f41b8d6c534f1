"""`manage.py run FILE.js --caller NAME --workspace NAME [--input JSON] [--key KEY] [--follow]`."""

import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.management.base import BaseCommand, CommandError, CommandParser

from executions.management import terminal
from executions.management.refusals import USAGE, refusals
from executions.models import Execution
from executions.services.accounts import agent
from executions.services.follow import Follow
from executions.services.submission import parse
from executions.services.submit import submit
from executions.states import Status
from forge_project.kernel import strict_json


class Command(BaseCommand):
    help = "Submits a script in an agent's name; with --follow shows what it does and exits 1 unless it succeeds."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="the script; - reads standard input")
        parser.add_argument("--caller", required=True, help="the agent it runs as")
        parser.add_argument("--workspace", default="")
        parser.add_argument("--input", help="JSON, the script's `input`")
        parser.add_argument("--key", help="idempotency key: the same key is the same execution (default: a new one)")
        parser.add_argument("--follow", action="store_true")
        parser.add_argument("--site", default="http://127.0.0.1:8000", help="where people reach the admin")

    def handle(self, *args: Any, **options: Any) -> None:
        body: dict[str, Any] = {"source": _source(options["file"])}
        body |= {"workspace": options["workspace"]} if options["workspace"] else {}
        with refusals():
            body |= {"input": strict_json.loads(options["input"])} if options["input"] is not None else {}
            caller = agent(options["caller"]).user
            ref = submit(parse(caller, options["key"] or f"run-{uuid4().hex}", body)).execution.ref
        self.stdout.write(ref)
        self.stdout.flush()
        if options["follow"] and not self._follow(ref, options["site"]):
            sys.exit(1)

    def _follow(self, ref: str, site: str) -> bool:
        try:
            for line in Follow(ref, site).lines():
                self.stdout.write(terminal.line(line))
                self.stdout.flush()
        except KeyboardInterrupt:
            self.stdout.write(f"no longer followed, but it goes on: manage.py audit {ref}")
            return False
        row = Execution.objects.get(pk=ref)
        if row.status == Status.SUCCEEDED:
            self.stdout.write(terminal.line(f"result    {row.shown_result or '(no value)'}"))
            return True
        self.stdout.write(terminal.line(f"error     {row.error_code}: {row.error_message}"))
        return False


def _source(name: str) -> str:
    try:
        return sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"can't read {name}: {error}", returncode=USAGE) from None
