"""Whether this process is up, and whether every part it needs is usable now. Asked without credentials."""

import logging
import tempfile
from collections.abc import Callable, Mapping
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from drf_spectacular.utils import extend_schema
from kombu import Connection
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from executions.models import Worker
from executions.sandbox import engine
from executions.services.runtime import release_connections
from executions.services.serving.migrations import schema
from forge_project.kernel import transport
from forge_project.kernel.errors import ForgeError, NotReady
from forge_project.ledger import watch

log = logging.getLogger("forge.health")
BROKER_SECONDS = 2


def database() -> None:
    """It answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def migrations() -> None:
    """The schema is this code's: nothing unapplied, nothing that newer code applied."""
    found = schema()
    if found.missing or found.foreign:
        told = [f"unapplied: {', '.join(found.missing)}"] if found.missing else []
        told += [f"unknown: {', '.join(found.foreign)}"] if found.foreign else []
        raise NotReady("; ".join(told), part="migrations")


def broker() -> None:
    """It takes a connection within BROKER_SECONDS."""
    transport.register()
    timeouts = {"socket_timeout": BROKER_SECONDS, "socket_connect_timeout": BROKER_SECONDS}
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **timeouts}
    with Connection(settings.CELERY_BROKER_URL, connect_timeout=BROKER_SECONDS, transport_options=options) as connected:
        connected.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_SECONDS)


def script_engine() -> None:
    """Its files are those that were pinned."""
    engine.check()


def storage() -> None:
    """FORGE_VAR can be written."""
    with tempfile.TemporaryFile(dir=settings.FORGE_VAR) as file:
        file.write(b"ready?")
        file.flush()


PARTS: Mapping[str, Callable[[], None]] = {
    "database": database,
    "migrations": migrations,
    "broker": broker,
    "engine": script_engine,
    "storage": storage,
}


def isolation() -> list[str]:
    """The levels of the workers that live: how well guests are held here."""
    fresh = Worker.objects.filter(
        stopped_at=None, heartbeat__gte=Now() - timedelta(seconds=settings.FORGE_LEASE_SECONDS)
    )
    return sorted(set(fresh.exclude(isolation="").values_list("isolation", flat=True)))


def warnings() -> dict[str, str]:
    """What somebody should see to while everything goes on: checkpoints that don't reach their sink."""
    told = watch.sink_fault()
    return {"checkpoints": told} if told else {}


def faults() -> dict[str, str]:
    """Each part that is not usable, and why; never an address, a path or a password."""
    found = {}
    for name, check in PARTS.items():
        try:
            check()
        except ForgeError as error:
            found[name] = error.message
        except Exception as error:
            log.warning("%s is not usable", name, exc_info=error)
            found[name] = type(error).__name__
    release_connections()
    return found


class _Open(APIView):
    authentication_classes = ()
    permission_classes = (AllowAny,)
    throttle_classes = ()


class Healthz(_Open):
    """This process answers."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """200, whatever the rest does."""
        return Response({"status": "ok"})


class Readyz(_Open):
    """This process can do its work."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> Response:
        """200, or 503 with `facts.parts`: each failing part and why."""
        found = faults()
        if found:
            raise NotReady(f"not ready: {', '.join(found)}", parts=found)
        told = {"status": "ready", "parts": dict.fromkeys(PARTS, "ok")}
        return Response(told | {"isolation": isolation(), "warnings": warnings()})
