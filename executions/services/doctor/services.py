"""What Forge talks to, and what is stored there: database, broker, clock, workers, workspaces, people."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from celery import current_app
from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.db.models.functions import Now

from approvals.models import Agent
from executions.models import Worker, Workspace
from executions.selectors import holds
from executions.services.doctor.findings import Finding, fail, ok, warn
from executions.services.serving.migrations import reach, schema
from forge_project.kernel import clock
from forge_project.ledger import checkpoints as signed
from forge_project.ledger import restoring, sinks, watch
from forge_project.ledger.models import Event

_SKEW = timedelta(seconds=2)
_UNSIGNED = timedelta(minutes=15)  # three times as long as `serve` takes


def database() -> Iterable[Finding]:
    """It answers, and its schema is this code's."""
    try:
        reach()
        found = schema()
    except DatabaseError as error:
        why = str(error).strip().partition("\n")[0]
        yield fail("database", f"it can't be reached: {why}", "check FORGE_DATABASE_URL and the server")
        return
    if found.foreign:
        yield fail("database", f"made by a newer Forge: {', '.join(found.foreign)}", "run that version")
    if found.missing:
        yield fail("database", f"{len(found.missing)} migrations are missing", "python manage.py migrate")
    if not (found.foreign or found.missing):
        yield ok("database", f"{connection.vendor}, every migration applied")


def broker() -> Iterable[Finding]:
    """It takes a connection. Without it work goes on, by the sweep."""
    where = settings.CELERY_BROKER_URL.partition("://")[0]
    try:
        with current_app.connection_for_write() as link:
            link.ensure_connection(max_retries=1, timeout=3)
    except Exception as error:  # each transport has its own
        yield fail("broker", f"{where} can't be reached: {error}", "check FORGE_BROKER_URL and the server")
    else:
        yield ok("broker", where)


def time() -> Iterable[Finding]:
    """This host's clock against the database's and against the newest fact."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_TIMESTAMP")
        told = cursor.fetchone()[0]
    theirs = told if isinstance(told, datetime) else datetime.fromisoformat(f"{told}+00:00")
    skew = abs(clock.now() - theirs)
    newest = Event.objects.order_by("-id").values_list("committed_at", flat=True).first() or ""
    if skew > _SKEW:
        yield fail("clock", f"{skew.total_seconds():.1f} s from the database's", "synchronise both hosts (NTP)")
    elif newest > clock.text(clock.now() + _SKEW):
        yield fail("clock", f"behind the newest fact of the ledger ({newest})", "synchronise this host (NTP)")
    else:
        yield ok("clock", "agrees with the database's")


def checkpoints() -> Iterable[Finding]:
    """They are made, and they reach their sink."""
    if restoring.behind():
        yield fail("checkpoints", "the database is older than its sink: no effect begins", "python manage.py restored")
        return
    if fault := watch.sink_fault():
        yield warn("checkpoints", fault, "mend it, or FORGE_CHECKPOINT_SINK; what is missing is sent by itself")
    late = watch.unsigned()
    if late.since is not None and clock.now() - late.since > _UNSIGNED:
        said = f"{late.chains} chains grew and nothing signs them, the oldest event since {clock.text(late.since)}"
        yield warn("checkpoints", said, "python manage.py serve, or ledger_checkpoint --every 300 where the key is")
    elif not fault:
        where = (
            "a file and a webhook" if sinks.file() and sinks.webhook() else "a file" if sinks.file() else "a webhook"
        )
        there = f"sent to {where}" if sinks.file() or sinks.webhook() else "kept here alone, no FORGE_CHECKPOINT_SINK"
        yield ok("checkpoints", f"{signed.newest()} signed, {there}")


def workers() -> Iterable[Finding]:
    """Somebody does the work."""
    fresh = Now() - timedelta(seconds=settings.FORGE_LEASE_SECONDS)
    alive = Worker.objects.filter(stopped_at=None, heartbeat__gte=fresh).count()
    yield ok("workers", f"{alive} alive") if alive else warn("workers", "none is running", "python manage.py serve")


def workspaces() -> Iterable[Finding]:
    """Those this host serves are there."""
    rows = [row for row in Workspace.objects.order_by("name") if settings.FORGE_HOST_ID in row.hosts]
    gone = [row for row in rows if not Path(row.path).is_dir()]
    for row in gone:
        yield fail("workspaces", f"{row.name}: {row.path} is not there", "bring it back; its agents can't work")
    if not gone:
        yield ok("workspaces", f"{len(rows)} served by this host")


def holding() -> Iterable[Finding]:
    """Whether somebody holds work back."""
    standing = holds.standing()
    for hold in standing:
        what = f"--{hold.kind} {hold.target}" if hold.target else ""
        said = f"{hold} since {clock.text(hold.placed_at)[:16]}Z by {hold.placed_by}: {hold.reason}"
        yield warn("holds", said, f"python manage.py release {what} --reason …".replace("  ", " "))
    if not standing:
        yield ok("holds", "nothing is held")


def people() -> Iterable[Finding]:
    """Somebody can approve, and nobody runs the system and approves as well."""
    active = User.objects.filter(is_active=True).exclude(pk__in=Agent.objects.values("user"))
    deciding = [user for user in active if user.has_perm("approvals.decide_approval")]
    if not deciding:
        yield warn("people", "nobody can approve", "python manage.py person add NAME --role approvers")
    both = [user.username for user in deciding if user.has_perm("executions.resolve_execution")]
    for name in both:
        yield warn("people", f"{name} is approver and operator", "give the two roles to two people")
    if deciding and not both:
        yield ok("people", f"{len(deciding)} can approve")
