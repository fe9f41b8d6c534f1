"""The ledger's writes, each by name, on an invocation of its own."""

import json

from django.contrib.auth.models import User

from approvals.models import PolicyRule
from approvals.services import SaveRule, save_rule
from forge_project.kernel import clock, failpoints
from forge_project.ledger import aftermath, checkpoints, generic, imports, operations, streams
from forge_project.ledger.events import Identity, fact
from forge_project.ledger.models import Checkpoint, Chunk, Event, Import, Invocation, Operation, Stream, Tombstone
from forge_project.ledger.operations import Outcome, Recovery, Tool
from forge_project.ledger.tombstones import Purge, purge
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing, writing_after

GOOD = Outcome(result={"ok": True})
NEEDS = {
    "t2": ["t1"], "bundle": ["t1"], "park": ["t1"], "late": ["t1", "park"], "resolve": ["t1", "park"],
    "successor": ["seal"], "checkpoint": ["seal"], "purge": ["seal", "checkpoint"], "append": ["chunk"],
    "govern": ["person"],
}  # fmt: skip


class Steps:
    """One invocation, and what may be done to it."""

    def __init__(self, name, folder):
        self.name, self.file = name, folder / f"{name}.jsonl"
        self.identity = Identity(invocation_id=name, session_id="s", run_id="r", turn_id="t", owner="user:ada")
        operation = operations.operation_id(name, "c")
        self.tool = Tool(
            operation_id=operation, call_id="c", tool="t", args={}, args_digest="d", recovery_mode="reconcile"
        )

    def before(self, step):
        for needed in NEEDS.get(step, []):
            getattr(self, needed)()

    def run(self, step, spec=""):
        failpoints.arm(spec)
        getattr(self, step)()

    def _event(self, n, **more):
        base = {"invocation_id": self.name, "session_id": "s", "run_id": "r", "turn_id": "t", "ts": 1}
        base |= {"role": "model", "author": "agent", "event_id": f"{self.name}-{n}"}
        return base | {"content": {"kind": "text", "text": "x"}} | more

    def _send(self, *bodies):
        place = generic.Place(owner="user:ada", source="agent")
        generic.append([generic.parse(body, place) for body in bodies])

    def append(self):
        self._send(self._event(1, refs={"provider_event_id": "p"}), self._event(2))

    def chunk(self):
        live = streams.Live(identity=self.identity, kind="text", ref="p", role="model", author="agent")
        streams.append(live, [(1, "a"), (2, "b")])

    def batch(self):
        other = {"invocation_id": f"{self.name}-other"}
        self._send(self._event(1), self._event(2, **other), self._event(3), self._event(4, **other))

    def _page(self, do, *args):
        with writing(self.name, opening=self.identity) as page:
            do(page, *args)

    def t1(self):
        def do(page):
            operations.request(page, self.tool)
            operations.prepare(page, self.tool, 1)

        self._page(do)

    def t2(self):
        self._page(operations.outcome, self.tool, GOOD)

    def _bundle(self, disposition, observation, ended):
        seen = Recovery(
            attempt=1, observation=observation, observation_digest="d", disposition=disposition, reason="r",
            outcome=ended,
        )  # fmt: skip
        self._page(operations.recover, self.tool, seen)

    def bundle(self):
        self._bundle("completed", "matches_expected_state", GOOD)

    def park(self):
        self._bundle("parked", "diverged", None)

    def late(self):
        with writing_after(self.name) as page:
            aftermath.late(page, self.tool, 1, GOOD)

    def resolve(self):
        self._page(aftermath.resolve, self.tool, aftermath.Resolution(became="applied", actor="a", reason="r"))

    def seal(self):
        self._page(lambda page: page.add(fact("end", status="completed", event_id=f"{self.name}-end")))

    def successor(self):
        with writing_after(self.name) as page:
            page.add(fact("later", event_id=f"{self.name}-later"))

    def checkpoint(self):
        checkpoints.take()

    def purge(self):
        purge(Purge(before=clock.text(clock.now()), actor="a", reason="r"))

    def load(self):
        lines = [self._event(n, invocation_id=f"{self.name}-{n % 2}") for n in range(10)]
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        imports.load(self.file, "user:ada")

    def person(self):
        User.objects.get_or_create(username="olga")

    def govern(self):
        olga = User.objects.get(username="olga")
        save_rule(SaveRule(name=self.name, capability="git.*", decision="DENY", author=olga))

    def dump(self):
        """Everything of the ledger, but what a signature or a clock makes different each time."""
        invocations = Invocation.objects.order_by("pk").values_list("pk", "head_seq", "successors", "follows")
        return [
            list(invocations),
            list(Event.objects.order_by("pk").values_list("invocation_id", "seq", "event_id")),
            list(Operation.objects.order_by("pk").values_list("pk", "state", "version")),
            list(Stream.objects.order_by("pk").values_list("pk", "chunks", "ended")),
            list(PolicyRule.objects.order_by("pk").values_list("name", "version", "retired_at")),
            [Chunk.objects.count(), Checkpoint.objects.count(), Tombstone.objects.count()],
            list(Import.objects.order_by("pk").values_list("items", "position", "done").filter(items__gt=0)),
        ]

    def findings(self):
        return [found.json() for found in verify().findings]


setattr(Steps, "import", Steps.load)
