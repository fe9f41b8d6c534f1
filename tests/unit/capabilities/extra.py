"""A module as FORGE_CAPABILITIES names it."""

from executions.capabilities.base import (
    Capability,
    Description,
    Effect,
    Outcome,
    Recovery,
    Risk,
    closed_object,
)


class Echo(Capability):
    name, summary, effect, risk = "test.echo", "Says it again", Effect.READ, Risk.LOW
    recovery_mode = Recovery.REPLAY_SAFE
    input_schema = result_schema = closed_object(text={"type": "string"})

    def observe(self, request):
        return {}

    def execute(self, request, effect):
        return Outcome(result={"text": request.input["text"]})

    def describe(self, request, seen):
        return Description(sentence="Echo", target="-", reversible=True, preview={"kind": "none"})
