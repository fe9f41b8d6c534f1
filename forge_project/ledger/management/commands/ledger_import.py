"""`manage.py ledger_import FILE --owner REF [--check] [--report FILE] [--json]`: events of JSON lines, with resume."""

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from forge_project.kernel.errors import ForgeError
from forge_project.ledger import imports
from forge_project.ledger.schema.checks import ID

_SHOWN = 20


class Command(BaseCommand):
    help = "Imports events by batches of 1,000, each all or nothing; run again, it goes on where it stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--owner", required=True, help="whose events these are, as user:NAME")
        parser.add_argument("--check", action="store_true", help="look at every item, write nothing")
        parser.add_argument("--report", type=Path, help="what became of each item, as JSON lines")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")

    def handle(self, *args: Any, **options: Any) -> None:
        if not ID.fullmatch(options["owner"]):
            raise CommandError("--owner is 1-200 visible ASCII characters", returncode=2)
        try:
            size = options["file"].stat().st_size
            with ExitStack() as stack:
                tell = _teller(stack, options["report"])
                bar = stack.enter_context(
                    tqdm(total=size, unit="B", unit_scale=True, disable=None, file=sys.stderr, leave=False)
                )
                report = imports.load(
                    options["file"], options["owner"], check=options["check"], progress=_moves(bar), tell=tell
                )
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror}", returncode=2) from None
        except ForgeError as error:
            raise CommandError(error.message, returncode=2) from None
        self._say(report, options["json"])
        if report.refused:
            sys.exit(1)

    def _say(self, report: imports.Report, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(asdict(report)))
            return
        for item in report.refused[:_SHOWN]:
            self.stdout.write(f"line {item.line}: {item.problem} {item.path}".rstrip())
        if len(report.refused) > _SHOWN:
            self.stdout.write(f"and {len(report.refused) - _SHOWN} more (--json, --report have all)")
        if report.already_imported:
            self.stdout.write("already imported")
            return
        resumed = f" (resumed after line {report.resumed_at})" if report.resumed_at else ""
        told = f"{report.created} written, {report.already} there already, {len(report.refused)} refused{resumed}"
        self.stdout.write(told)


def _moves(bar: "tqdm[Any]") -> Callable[[int], object]:
    return lambda position: bar.update(max(0, position - bar.n))


def _teller(stack: ExitStack, path: Path | None) -> Callable[[imports.Item], object]:
    if path is None:
        return lambda _item: None
    file = stack.enter_context(path.open("a"))
    return lambda item: file.write(json.dumps(asdict(item)) + "\n")
