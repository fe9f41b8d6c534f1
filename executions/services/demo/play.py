"""From the first step to the last; whatever happens on the way, the service is stopped."""

import signal
from pathlib import Path
from types import FrameType

from django.conf import settings

from executions.services.demo.cast import APPROVER
from executions.services.demo.service import Service
from executions.services.demo.story import Say, Stage, approve, ask, check, prepare
from executions.services.demo.watch import Watch
from executions.services.follow import decide_at
from forge_project.kernel.errors import ForgeError


def play(place: Path, *, leave_pending: bool, say: Say, tell: Say) -> bool:
    """Whether everything held. With `leave_pending` it serves until Ctrl-C and holds."""
    signal.signal(signal.SIGTERM, _interrupt)
    stage = prepare(place, say)
    with Watch(stage.project) as watch, Service(place / "service.log") as service:
        try:
            say(f"web and worker start at {service.url}")
            service.wait_until_ready()
            ref, asked = ask(stage, service)
            if leave_pending:
                return _leave(stage, service, asked["approval_ref"], tell)
            tell(f"\n{asked['preview']['text']}")
            record = approve(stage, service, ref, asked)
        except ForgeError:
            tell(f"the service's log:\n{service.tail()}")
            raise
        drained = service.stop()
        say("service stopped\n" if drained else "NOT HELD: the service did not stop in good order\n")
        held = check(stage, watch, ref, record, tell)
    _admin(stage, tell)
    return held and drained


def _leave(stage: Stage, service: Service, approval_ref: str, tell: Say) -> bool:
    tell(f"\ndecide it: {decide_at(service.url, approval_ref)}")
    tell(f"admin: {service.url}/admin/   user {APPROVER}   password {stage.cast.password}")
    tell("Ctrl-C stops the service")
    try:
        service.wait()
    except KeyboardInterrupt:
        return service.stop()
    return False  # it ended by itself


def _admin(stage: Stage, tell: Say) -> None:
    tell(f"\nadmin: FORGE_VAR={settings.FORGE_VAR} make serve, then http://127.0.0.1:8000/admin/")
    tell(f"       user {APPROVER}   password {stage.cast.password}")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
