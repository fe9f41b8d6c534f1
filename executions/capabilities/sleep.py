"""sleep: time passes. Forge keeps the wait itself, in a row; no process and no thread is held for it."""

from executions.capabilities.base import (
    Capability,
    Description,
    Effect,
    EffectBoundary,
    Outcome,
    Precondition,
    Recovery,
    Request,
    Risk,
    closed_object,
)

MAX_MS = 7 * 86_400_000


class Sleep(Capability):
    """Run only once its time has come: then there is nothing left to do."""

    name = "sleep"
    summary = "Wait, without holding anything, and go on afterwards"
    effect, risk, recovery_mode = Effect.INTERNAL, Risk.LOW, Recovery.REPLAY_SAFE
    input_schema = closed_object(ms={"type": "integer", "minimum": 0, "maximum": MAX_MS})
    result_schema = closed_object(ms={"type": "integer"})

    def observe(self, request: Request) -> Precondition:
        return {"ms": request.input["ms"]}

    def execute(self, request: Request, effect: EffectBoundary) -> Outcome:
        return Outcome(result={"ms": request.input["ms"]})

    def describe(self, request: Request, seen: Precondition) -> Description:
        told = f"{seen['ms']} ms"
        return Description(sentence=f"Wait {told}", target=told, reversible=True, preview={"kind": "none"})
