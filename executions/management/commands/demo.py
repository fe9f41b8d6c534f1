"""`manage.py demo [--leave-pending] [--keep]`: the main job on real input; exit 0 only if every claim held."""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from executions.management.refusals import refusals
from executions.services.demo.place import environment, new_place
from executions.services.demo.play import play


class Command(BaseCommand):
    help = "Shows the main job on a copy of this project, in a Forge of its own."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--leave-pending", action="store_true", help="leave the decision to you, in the admin")
        parser.add_argument("--keep", action="store_true", help="later demos leave this one's files alone")
        parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["within"] is None:
            _again_within(new_place(settings.FORGE_VAR / "demo", keep=options["keep"]), options["leave_pending"])
        began = time.monotonic()

        def say(line: str) -> None:
            self.stdout.write(f"[{time.monotonic() - began:5.1f} s] {line}")
            self.stdout.flush()

        held = False
        try:
            with refusals():
                held = play(options["within"], leave_pending=options["leave_pending"], say=say, tell=self._tell)
        except KeyboardInterrupt:
            say("interrupted")
        if not held:
            sys.exit(1)

    def _tell(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def _again_within(place: Path, leave_pending: bool) -> None:
    """The same command with the demo's own settings: they are read once a process."""
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "demo", "--within", str(place)]
    command += ["--leave-pending"] if leave_pending else []
    os.execve(command[0], command, environment(place, os.environ))  # noqa: S606  # no shell is wanted
