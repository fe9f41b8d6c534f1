"""Turns Forge's wall clock by what the file FORGE_TEST_SKEW says, in seconds: loaded by FORGE_CAPABILITIES in chaos."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forge_project.kernel import clock


def now():
    try:
        return datetime.now(UTC) + timedelta(seconds=float(Path(os.environ["FORGE_TEST_SKEW"]).read_text()))
    except (KeyError, OSError, ValueError):
        return datetime.now(UTC)


clock.now = now
