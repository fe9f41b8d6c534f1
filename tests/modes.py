"""One tests-only capability for each way a lost outcome is settled. Each leaves a file named by its operation."""

import os
from pathlib import Path

from executions.capabilities.base import (
    Applied,
    Capability,
    Description,
    Effect,
    Outcome,
    Recovery,
    Risk,
    Unknown,
    closed_object,
)
from forge_project.kernel import failpoints


def trace(request):
    return Path(os.environ["FORGE_TEST_MARKER"] + f".{request.operation_id}")


class _Mode(Capability, abstract=True):
    summary = "Leaves a trace."
    risk = Risk.LOW
    input_schema, result_schema = closed_object(), closed_object(done={"type": "boolean"})

    def observe(self, request):
        return {"trace": trace(request).name}

    def execute(self, request, effect):
        effect.begin(self.observe(request))
        failpoints.reach("effect.before")
        failpoints.reach("effect.middle")
        with trace(request).open("a") as file:
            file.write("once\n")
        failpoints.reach("effect.after")
        return Outcome(result={"done": True}, effect_applied=True)

    def describe(self, request, seen):
        return Description(sentence="Leave a trace", target="trace", reversible=False, preview={"kind": "none"})


class Check(_Mode):
    name, effect, recovery_mode = "modes.check", Effect.PROCESS, Recovery.REPLAY_SAFE


class Post(_Mode):
    name, effect, recovery_mode = "modes.post", Effect.EXTERNAL, Recovery.IDEMPOTENT


class Job(_Mode):
    name, effect, recovery_mode = "modes.job", Effect.PROCESS, Recovery.REATTACH

    def reconcile(self, request, seen):
        return Applied({"done": True}) if trace(request).exists() else Unknown("no trace")


class Fire(_Mode):
    name, effect, recovery_mode = "modes.fire", Effect.EXTERNAL, Recovery.NEVER_AUTO_RETRY


class Peek(_Mode):
    name, effect, recovery_mode = "modes.peek", Effect.READ, Recovery.IDEMPOTENT

    def execute(self, request, effect):
        return Outcome(result={"done": True})
