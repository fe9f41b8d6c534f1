"""What the tests of mended faults share."""

import pytest

from executions.models import Execution
from executions.services import workers
from executions.services.advance import advance
from executions.services.cancel import Cancel, cancel
from executions.services.claim import claim_next


@pytest.fixture(autouse=True)
def _no_linger(settings):
    settings.FORGE_LINGER_MS = 0


def row(execution):
    return Execution.objects.get(pk=execution.ref)


def end(execution):
    done = row(execution)
    return done.status, done.error_code


def stop(execution):
    return cancel(Cancel(execution_ref=execution.ref, actor="user:robo", reason="enough"))


def claimed(runtime):
    workers.beat(runtime)
    return claim_next(runtime)


def drive(lease, runtime):
    try:
        advance(lease, runtime)
    finally:
        runtime.let_go(lease.ref)
