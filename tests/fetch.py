"""A tests-only capability that reaches out of this host, as far as anybody is told: it gives its URL back.

`Fetch` is declared as what may change something outside, and says by its method where it only reads; `Ask` claims to be
internal.
"""

from executions.capabilities.base import (
    NO_TARGET,
    Capability,
    Description,
    Effect,
    Outcome,
    Recovery,
    Risk,
    closed_object,
)
from forge_project.kernel.network import hosts, urls


class _Outward(Capability, abstract=True):
    summary, risk, network = "Gives its URLs back.", Risk.LOW, True
    input_schema = closed_object(
        ["urls"], urls={"type": "array", "items": {"type": "string"}, "minItems": 1}, method={"type": "string"}
    )
    result_schema = closed_object(urls={"type": "array", "items": {"type": "string"}})

    def aim(self, given, artifacts):
        targets = [urls.parse(url, plain=True) for url in given["urls"]]
        where = {"host": targets[0].host, "hosts": [hosts.place(target) for target in targets]}
        return NO_TARGET | where | {"method": given.get("method", "GET")}

    def observe(self, request):
        return {}

    def describe(self, request, seen):
        return Description(sentence="Fetch", target="a URL", reversible=False, preview={"kind": "none"})


class Fetch(_Outward):
    name, effect, recovery_mode = "outward.fetch", Effect.EXTERNAL, Recovery.IDEMPOTENT

    def execute(self, request, effect):
        effect.begin(self.observe(request))
        return Outcome(result={"urls": request.input["urls"]}, effect_applied=True)


class Look(_Outward):
    name, effect, recovery_mode = "outward.look", Effect.READ, Recovery.REPLAY_SAFE

    def execute(self, request, effect):
        return Outcome(result={"urls": request.input["urls"]})


class Ask(Look):
    name, effect = "outward.ask", Effect.INTERNAL
