"""The demo itself: every step over HTTP, every claim checked by looking."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections

from executions.services import timeline
from executions.services.audit import audit
from executions.services.demo.cast import APPROVER, WORKSPACE, Cast, engage
from executions.services.demo.client import Client
from executions.services.demo.copying import copy_project
from executions.services.demo.service import Service
from executions.services.demo.watch import Watch
from executions.services.serving.migrations import migrate
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import Failed
from forge_project.ledger.models import Event
from forge_project.ledger.selectors import payload
from forge_project.ledger.verify import verify

FILE = "README.md"
DIRECTORIES = ("executions/management/commands", "forge_project/ledger/management/commands")
_AGENT = Path(__file__).with_name("agent.js")
_STEP_SECONDS = 45.0
_FEWEST_EVENTS = 10

Say = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a demo plays on. `say` is told each step."""

    place: Path
    project: Path
    cast: Cast
    say: Say


def prepare(place: Path, say: Say) -> Stage:
    """The project's copy, the database, the accounts. Raises Failed."""
    project = place / "project"
    project.mkdir()
    files = copy_project(settings.BASE_DIR, project)
    say(f"copied this project: {files} files, a git repository of its own")
    migrate()
    cast = engage(project)
    connections.close_all()
    say("database migrated; agent, owner and approver made")
    return Stage(place=place, project=project, cast=cast, say=say)


def ask(stage: Stage, service: Service) -> tuple[str, dict[str, Any]]:
    """The agent's script is submitted and comes to where a person must decide; its ref and what they are shown."""
    agent = Client(url=service.url, token=stage.cast.agent_token)
    request = {
        "source": _AGENT.read_text(),
        "input": {"file": FILE, "directories": list(DIRECTORIES)},
        "workspace": WORKSPACE,
        "purpose": "Document the commands",
        "interruption": "resume",
    }
    made = agent.call("POST", "/api/v1/executions/", request, **{"Idempotency-Key": "demo-1"})
    ref = str(made["execution_ref"])
    stage.say(f"the agent sent its script: {ref}")
    agent.until(ref, "waiting_approval", seconds=_STEP_SECONDS)
    approver = Client(url=service.url, token=stage.cast.approver_token)
    pending = approver.call("GET", "/api/v1/approvals/?state=pending")["results"]
    if len(pending) != 1:
        raise Failed(f"{len(pending)} approvals wait instead of one")
    stage.say(f"it waits for a person, and no process waits with it: {pending[0]['sentence']}")
    return ref, pending[0]


def approve(stage: Stage, service: Service, ref: str, asked: dict[str, Any]) -> dict[str, Any]:
    """The approver says yes to exactly what was shown; the execution's record once it has succeeded."""
    said = {"decision": "approve", "reason": "the diff is right"}
    said |= {name: asked[name] for name in ("version", "fingerprint")}
    approver = Client(url=service.url, token=stage.cast.approver_token)
    approver.call("POST", f"/api/v1/approvals/{asked['approval_ref']}/decide/", said)
    stage.say(f"{APPROVER} approved it")
    agent = Client(url=service.url, token=stage.cast.agent_token)
    record = agent.until(ref, "succeeded", seconds=_STEP_SECONDS)
    stage.say("the script was replayed in a new process, applied its change and read it back")
    return record


def check(stage: Stage, watch: Watch, ref: str, record: dict[str, Any], tell: Say) -> bool:
    """Tells what happened, from the world and the ledger, once the service is stopped; whether every claim held."""
    for event in audit(ref)["events"]:
        tell(timeline.line(event))
    renamed, changed, dispatched = watch.renamed(), watch.changed(), _dispatched()
    applied = len(renamed)
    report = verify()
    content = (stage.project / FILE).read_bytes()
    claims = {
        f"effects applied: {applied}": renamed == changed == [FILE] and dispatched == applied,
        f"read back: {record['result']['after'][:16]}…": record["result"]["after"] == sha256(content),
        f"ledger verified: {report.events} events": not report.findings and report.events > _FEWEST_EVENTS,
    }
    for claim, held in claims.items():
        tell(claim if held else f"NOT HELD: {claim} (renamed {renamed}, changed {changed}, dispatched {dispatched})")
    return all(claims.values())


def _dispatched() -> int:
    """How often the ledger says that patch.apply was dispatched."""
    events = Event.objects.filter(kind="tool_dispatch")
    return sum(payload(event)["actions"]["tool_dispatch"]["tool"] == "patch.apply" for event in events)
