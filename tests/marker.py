"""A tests-only capability whose effect can be counted from outside: it appends one line to FORGE_TEST_MARKER.

It waits in the middle of it while there is a file FORGE_TEST_GATE, and says by `<that>.reached` that it does.
"""

import os
import time
from pathlib import Path

from executions.capabilities.base import (
    Applied,
    Capability,
    Description,
    Effect,
    NotApplied,
    Outcome,
    Recovery,
    Risk,
    closed_object,
)
from forge_project.kernel import failpoints


def _file():
    return os.environ["FORGE_TEST_MARKER"]


def _wait():
    gate = os.environ.get("FORGE_TEST_GATE")
    while gate and os.path.exists(gate):
        Path(f"{gate}.reached").touch()
        time.sleep(0.02)


class Marker(Capability):
    name = "tests.marker"
    summary = "Appends one line to the marker file."
    effect, risk, recovery_mode = Effect.WRITE, Risk.LOW, Recovery.RECONCILE
    input_schema = closed_object(text={"type": "string", "maxLength": 200})
    result_schema = closed_object(line={"type": "string"})

    def observe(self, request):
        return {"line": f"{request.operation_id} {request.input['text']}"}

    def execute(self, request, effect):
        line = self.observe(request)["line"]
        effect.begin({"line": line})
        _wait()
        failpoints.reach("effect.before")
        fd = os.open(_file(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        failpoints.reach("effect.middle")
        os.write(fd, f"{line}\n".encode())
        os.close(fd)
        failpoints.reach("effect.after")
        return Outcome(result={"line": line}, effect_applied=True)

    def reconcile(self, request, seen):
        try:
            with open(_file()) as lines:
                there = any(line.rstrip("\n") == seen["line"] for line in lines)
        except FileNotFoundError:
            there = False
        return Applied({"line": seen["line"]}) if there else NotApplied()

    def describe(self, request, seen):
        return Description(sentence="Append one line", target="marker", reversible=False, preview={"kind": "none"})
