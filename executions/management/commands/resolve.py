"""`manage.py resolve REF N --observed applied|not_applied --reason TEXT --evidence TEXT …`: ends an unknown effect."""

import getpass
import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management import terminal
from executions.management.refusals import refusals
from executions.sandbox.shapes import NO_VALUE
from executions.services.resolve import Resolve, resolve
from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid


class Command(BaseCommand):
    help = "Says what became of a call whose effect is unknown: its execution ends then, or its script goes on."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ref")
        parser.add_argument("n", type=int, help="the call's number")
        parser.add_argument("--observed", required=True, choices=["applied", "not_applied"])
        parser.add_argument("--reason", required=True, help="why you say so")
        parser.add_argument("--evidence", required=True, action="append", help="what shows it; may stand several times")
        parser.add_argument("--result", help="JSON: what the caller is told of an applied call")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            left = resolve(
                Resolve(
                    execution_ref=options["ref"],
                    n=options["n"],
                    actor=f"os:{getpass.getuser()}",
                    observed=options["observed"],
                    reason=options["reason"],
                    evidence=tuple(options["evidence"]),
                    result=NO_VALUE if options["result"] is None else _json(options["result"]),
                )
            )
        if options["json"]:
            told = {"ref": left.ref, "status": left.status, "side_effect": left.side_effect, "error": left.error_code}
            self.stdout.write(json.dumps(told))
        else:
            self.stdout.write(terminal.line(f"{left.ref}: {left.status}, effect {left.side_effect}"))


def _json(text: str) -> Any:
    try:
        return strict_json.loads(text)
    except Invalid as fault:
        raise Invalid(f"--result is not JSON: {fault.message}", path="/result") from None
