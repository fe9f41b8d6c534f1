"""`manage.py capabilities [NAME] [--json]`: the catalog."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from executions.capabilities.base import Capability
from executions.management.refusals import USAGE
from executions.services import catalog


class Command(BaseCommand):
    help = "Lists what agents can ask for, or describes one capability."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        known = catalog.registry().all()
        chosen = [one for one in known if options["name"] in (None, one.name)]
        if not chosen:
            raise CommandError(f"no such capability: {options['name']}", returncode=USAGE)
        if options["json"]:
            told = [_json(one) for one in chosen]
            self.stdout.write(json.dumps(told if options["name"] is None else told[0]))
        elif options["name"]:
            for name, value in _json(chosen[0]).items():
                self.stdout.write(f"{name}: {_plain(value)}")
        else:
            width = max(len(one.name) for one in chosen)
            for one in chosen:
                self.stdout.write(f"{one.name:{width}}  {one.effect.value:8}  {one.summary}")


def _json(one: Capability) -> dict[str, Any]:
    return {
        "name": one.name,
        "summary": one.summary,
        "effect": one.effect.value,
        "risk": one.risk.value,
        "recovery_mode": one.recovery_mode.value,
        "network": one.network,
        "timeout_ms": one.timeout_ms,
        "input_schema": one.input_schema,
        "result_schema": one.result_schema,
    }


def _plain(value: Any) -> str:
    return json.dumps(value, indent=2) if isinstance(value, dict) else str(value)
