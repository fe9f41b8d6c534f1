"""The crash matrix: every failpoint on an execution's road x every kind of effect, and what must hold after each.

Two drivers go through it: tests/db/executions/test_matrix (a crash in process, in `make test`) and tests/chaos/matrix
(a process that is killed -9, in `make chaos`). What happened is counted in the world, from outside.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tests.inotify import Renames

ACCEPT = ("submit.before_commit", "submit.after_commit", "publish.before", "publish.after")
ROAD = ("claim.after", "t1.before", "t1.after", "effect.before", "effect.middle", "effect.after", "t2.before")
POINTS = (*ACCEPT, *ROAD, "t2.after", "close.before", "reconcile.middle")
WINDOW = frozenset(("t1.after", "effect.before", "effect.middle", "effect.after", "t2.before", "reconcile.middle"))


@dataclass(frozen=True)
class Kind:
    """One kind of effect. `looks`: how it is settled tells what happened, so record and world must agree."""

    capability: str
    approved: bool = False
    looks: bool = True
    never: frozenset[str] = frozenset()  # failpoints that are no place on its road


_NO_MIDDLE = frozenset(("effect.middle",))  # nothing in the world is half done
_NO_T2 = frozenset(("t2.before", "t2.after"))  # a read's outcome is written with the next turn, or the closing
KINDS = (
    Kind("file.read", never=_NO_MIDDLE | _NO_T2),
    Kind("modes.peek", never=_NO_MIDDLE | _NO_T2),
    Kind("artifact.patch-proposal.materialize", never=_NO_MIDDLE),
    Kind("file.write", approved=True),
    Kind("patch.apply"),
    Kind("tests.marker"),
    Kind("modes.check", looks=False),
    Kind("modes.post", looks=False),
    Kind("modes.job"),
    Kind("modes.fire"),
)
QUIET = frozenset(("file.read", "modes.peek", "artifact.patch-proposal.materialize"))


@dataclass
class Case:
    """One kind of effect, and where its process dies."""

    point: str
    kind: Kind

    @property
    def key(self) -> str:
        return f"{self.point}_{self.kind.capability}".replace(".", "-")

    @property
    def first_death(self) -> str:
        """A reconciler dies over what another death left open."""
        if self.point != "reconcile.middle":
            return self.point
        return "effect.before" if self.kind.capability in QUIET else "effect.middle"

    @property
    def reached(self) -> bool:
        return self.point not in self.kind.never

    def body(self, proposal: str) -> dict:
        inputs = {
            "file.read": {"path": "read-me"},
            "artifact.patch-proposal.materialize": {"diff": self.diff},
            "file.write": {"path": self.key, "content": "new"},
            "patch.apply": {"artifact_ref": proposal},
            "tests.marker": {"text": self.key},
        }
        name = self.kind.capability
        body = {"capability": name, "input": inputs.get(name, {}), "interruption": "resume"}
        return body | ({} if name.startswith(("modes", "tests")) else {"workspace": "ws"})

    @property
    def diff(self) -> str:
        return "".join(
            f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1 @@\n+new\n" for name in (f"{self.key}.1", f"{self.key}.2")
        )


def cases():
    return [Case(point, kind) for point in POINTS for kind in KINDS if point not in kind.never]


class World:
    """A workspace and a marker file, watched from outside."""

    def __init__(self, base: Path) -> None:
        self.folder, self.marker = base / "ws", base / "marker"
        self.folder.mkdir()
        (self.folder / "read-me").write_text("hello")
        self._renames = Renames(self.folder)

    def effects(self, case: Case, operation: str, artifacts: int) -> int:
        """How often this case's effect is in the world; a patch of two files counts once, half a patch twice."""
        renamed = Counter(self._renames.names())
        match case.kind.capability:
            case "file.write":
                return renamed[case.key]
            case "patch.apply":
                both = [renamed[f"{case.key}.{n}"] for n in (1, 2)]
                return both[0] if both[0] == both[1] else 2
            case "artifact.patch-proposal.materialize":
                return artifacts
            case "tests.marker":
                lines = self.marker.read_text().splitlines() if self.marker.exists() else []
                return sum(line.endswith(f" {case.key}") for line in lines)
        trace = Path(f"{self.marker}.{operation}")
        return len(trace.read_text().splitlines()) if trace.exists() else 0


def look(key: str) -> dict:
    """What the record says of the execution of this key: in the driver's process."""
    from artifacts.models import Artifact
    from executions.models import Call, Execution
    from forge_project.ledger.models import Event

    found = Execution.objects.filter(idempotency_key=key)
    row = found.first()
    if row is None:
        return {"executions": 0}
    call = Call.objects.filter(execution=row).first()
    dispatches = Event.objects.filter(invocation=row.ref, kind="tool_dispatch")
    return {
        "executions": found.count(),
        "ref": row.ref,
        "status": row.status,
        "side_effect": row.side_effect,
        "error": row.error_code,
        "operation": call.operation_id if call else "",
        "call": call.status if call else "",
        "dispatches": dispatches.count(),
        "artifacts": Artifact.objects.filter(execution_ref=row.ref).count(),
    }


def problems(case: Case, seen: dict, effects: int) -> list[str]:
    """What does not hold at the end of one case, in words; nothing if all does."""
    if seen["executions"] != 1:
        return [f"lost: {seen['executions']} executions of one key"]
    wrong = []
    if seen["status"] not in ("succeeded", "failed", "unknown", "waiting_approval"):
        wrong.append(f"lost: it is {seen['status']} for good")
    if effects > 1:
        wrong.append(f"duplicate: {effects} times in the world")
    if seen["dispatches"] > 1 and case.kind.capability not in QUIET:
        wrong.append(f"duplicate: dispatched {seen['dispatches']} times")
    if effects and not seen["dispatches"]:
        wrong.append("an effect without its T1")
    if seen["status"] == "unknown" and case.point not in WINDOW:
        wrong.append("unknown though no window was open")
    if case.kind.looks and case.kind.capability not in QUIET and seen["status"] != "unknown":
        applied = seen["side_effect"] == "applied"
        if applied != bool(effects):
            wrong.append(f"lost: the record says {seen['side_effect']}, the world has it {effects} times")
    return wrong


def expected(case: Case) -> tuple[str, str]:
    """(status, error) that this very death must lead to, by the table of recovery modes."""
    over = case.point not in WINDOW or case.kind.capability in QUIET
    if over and case.point in (*ACCEPT, "t2.after", "close.before", *ROAD):
        return ("succeeded", "")
    name, begun = case.kind.capability, case.point in ("effect.after", "t2.before")
    if name == "modes.fire" or (name == "modes.job" and not begun):
        return ("unknown", "UNKNOWN_SIDE_EFFECT")
    if case.kind.looks and (begun or (name == "patch.apply" and case.first_death == "effect.middle")):
        return ("succeeded", "")
    return ("succeeded", "") if name in QUIET else ("failed", "INTERRUPTED")
