"""A tests-only capability whose effect takes as long as the test wants: until the file FORGE_TEST_MARKER.gate is there.

It appends one line to FORGE_TEST_MARKER then, as tests.marker does.
"""

import os
import time
from pathlib import Path

from executions.capabilities.base import Outcome
from tests.marker import Marker

LONGEST = 60


class Slow(Marker):
    name = "tests.slow"
    summary = "Appends one line to the marker file, in its own time."

    def execute(self, request, effect):
        line = self.observe(request)["line"]
        effect.begin({"line": line})
        gate = Path(os.environ["FORGE_TEST_MARKER"] + ".gate")
        until = time.monotonic() + LONGEST
        while not gate.exists() and time.monotonic() < until:
            time.sleep(0.01)
        with open(os.environ["FORGE_TEST_MARKER"], "a") as file:
            file.write(line + "\n")
        return Outcome(result={"line": line}, effect_applied=True)
