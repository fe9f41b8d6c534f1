"""The machine on a real database, driven in this process: no broker, no worker process."""

from approvals.services.decide import Decide, decide
from executions.services import workers
from executions.services.advance import advance
from executions.services.claim import claim_next
from executions.services.submission import parse
from executions.services.submit import submit
from forge_project.kernel import clock


def send(caller, key="k1", **body):
    return submit(parse(caller, key, body)).execution


def run_one(runtime):
    """Claims and drives one execution; its ref, or None if nothing is due."""
    workers.beat(runtime)
    lease = claim_next(runtime)
    if lease is None:
        return None
    try:
        advance(lease, runtime)
    finally:
        runtime.let_go(lease.ref)
    return lease.ref


def run_all(runtime):
    while run_one(runtime):
        pass


def answer(approval, approver, decision="approve", reason="no"):
    return decide(
        Decide(
            approval_ref=approval.ref,
            actor=approver,
            decision=decision,
            reason=reason,
            version=approval.version,
            fingerprint=approval.fingerprint,
            authenticated_at=clock.now(),
            method="session",
        )
    )
