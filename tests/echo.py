"""A tests-only capability that gives its input back: what crosses into it has crossed all the way."""

from executions.capabilities.base import Capability, Description, Effect, Outcome, Recovery, Risk, closed_object


class Echo(Capability):
    name, summary = "tests.echo", "Gives its value back."
    effect, risk, recovery_mode = Effect.READ, Risk.LOW, Recovery.REPLAY_SAFE
    input_schema = closed_object(value={})
    result_schema = closed_object(value={})

    def observe(self, request):
        return {}

    def execute(self, request, effect):
        return Outcome(result=request.input)

    def describe(self, request, seen):
        return Description(sentence="Echo", target="a value", reversible=True, preview={"kind": "none"})
