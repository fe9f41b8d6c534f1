"""schemathesis over the whole description: no 5xx, no answer that is not described.

FORGE_SCHEMATHESIS_REQUESTS (default 130) is about how many requests are made by each kind of user.
"""

import os

import pytest
import schemathesis
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis import checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from executions.models import Execution
from executions.outbox.models import Signal, SignalKind
from executions.outbox.tell import tell
from tests.db.api import client_of
from tests.db.approvals import asked_about, pending
from tests.db.contract.described import DESCRIPTION
from tests.db.executions import send
from tests.people import person

OPERATIONS = sum(len(verbs) for verbs in DESCRIPTION["paths"].values())
REQUESTS = int(os.environ.get("FORGE_SCHEMATHESIS_REQUESTS", "130"))
CHECKS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
schema = schemathesis.openapi.from_dict(DESCRIPTION)
schema.app = WSGIHandler()


@pytest.fixture(autouse=True)
def _one_transaction():
    """As Django's own test client does: the end of a request does not end the test's connection."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def refs(caller, workspace):
    """Half of the refs that are made up are replaced by these, so that what follows them is reached."""
    asked = pending(caller)
    asked_about(asked, person("ada", "approvers"))
    ref = send(caller, key="there", source="return 1").ref
    tell(Execution.objects.get(pk=ref), SignalKind.RECOVERY_RESUME)
    return {
        "executions": ref,
        "approvals": asked.pk,
        "signals": Signal.objects.get().pk,
        "webhooks": "hook_" + "0" * 32,
    }


@pytest.fixture(params=["agent", "operator", "approver"])
def headers(request, caller):
    user = caller if request.param == "agent" else person(request.param, f"{request.param}s")
    return {"Authorization": client_of(user)._credentials["HTTP_AUTHORIZATION"]}


@pytest.mark.django_db
@schema.parametrize()
@settings(
    max_examples=max(1, REQUESTS // OPERATIONS),
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_operation(case, headers, refs):
    kind = case.operation.path.split("/")[3]
    if kind in refs and "ref" in (case.path_parameters or {}) and len(str(case.body)) % 2:
        case.path_parameters["ref"] = refs[kind]
    if "wait" in (case.query or {}):
        case.query["wait"] = "0"  # a long poll is tested elsewhere
    case.call_and_validate(headers=headers, checks=CHECKS)
