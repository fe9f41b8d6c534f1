"""The whole of Forge on this machine: a database that is up to date, the web, a worker, checkpoints."""

import os
import sys

from django.conf import settings
from django.db import DatabaseError

from executions.services.serving.children import Child
from executions.services.serving.listening import Listener, listen
from executions.services.serving.migrations import migrate, reach, schema
from executions.services.serving.supervise import Say, supervise
from forge_project.kernel.errors import Conflict, ForgeError, Invalid, NotReady
from forge_project.ledger import signing

_SPARE_SECONDS = 8  # beyond the drain: Celery notices a signal within 2 s and takes as long to close


def prepare(bind: str, say: Say) -> Listener:
    """Listens, then brings the embedded database up to date. Raises Invalid, Conflict, NotReady."""
    listener = listen(bind)
    try:
        settings.FORGE_VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
        reach()
        _bring_up_to_date(say)
    except (DatabaseError, ForgeError) as error:
        listener.socket.close()
        if isinstance(error, ForgeError):
            raise
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        raise NotReady(f"the database can't be used: {why}") from None
    say(f"admin  {listener.url}/admin/")
    say(f"API    {listener.url}/api/v1/")
    return listener


def serve(listener: Listener, say: Say) -> int:
    """Runs web, worker, checkpoints and metrics until SIGTERM or Ctrl-C; the exit code."""
    fd = _inherited(listener)
    web = [sys.executable, "-m", "gunicorn", "-c", "python:executions.services.serving.web"]
    worker = [sys.executable, "-m", "celery", "-q", "-A", "forge_project", "worker", "--pool", "threads"]
    keyless = signing.without_key(os.environ)
    children = [
        Child(name="web", command=[*web, "--bind", f"fd://{fd}", "forge_project.wsgi"], keep=(fd,), env=keyless),
        Child(
            name="worker",
            command=[*worker, "--concurrency", "2", "--loglevel", "WARNING", "--without-gossip", "--without-mingle"],
            env=keyless,
        ),
    ]
    if (metrics := _metrics(say)) is not None:
        at = _inherited(metrics)
        command = [sys.executable, "manage.py", "metrics", "--bind", f"fd://{at}"]
        children.append(Child(name="metrics", command=command, keep=(at,), env=keyless))
    if signing.has_key():
        command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "ledger_checkpoint", "--every", "300"]
        children.append(Child(name="checkpoints", command=command))
    else:
        say("checkpoints are made where FORGE_CHECKPOINT_KEY is: manage.py ledger_checkpoint --every 300")
    return supervise(children, drain_seconds=settings.FORGE_DRAIN_SECONDS + _SPARE_SECONDS, say=say)


def _metrics(say: Say) -> Listener | None:
    """Where figures are served; a port that is taken costs the figures and not the service."""
    if not settings.FORGE_METRICS_BIND:
        return None
    try:
        listener = listen(settings.FORGE_METRICS_BIND)
    except Invalid as refused:
        say(f"metrics are not served (FORGE_METRICS_BIND): {refused.message}")
        return None
    say(f"metrics {listener.url}/metrics")
    return listener


def _inherited(listener: Listener) -> int:
    fd = listener.socket.fileno()
    os.set_inheritable(fd, True)
    return fd


def _bring_up_to_date(say: Say) -> None:
    found = schema()
    if found.foreign:
        raise Conflict(f"the database was made by a newer Forge: it has {found.foreign[0]}")
    if found.missing and settings.FORGE_MODE == "scaled":
        raise Conflict("the database lacks migrations: run manage.py migrate first")
    applied = migrate()
    say(f"database ready ({applied} migrations applied)" if applied else "database ready")
