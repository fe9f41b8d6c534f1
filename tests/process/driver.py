"""A hand inside a site: `python -m tests.process.driver` takes JSON commands on stdin, answers on stdout."""

import json
import sys

from tests.process import crowd


def setup(_):
    from django.contrib.auth.models import User

    from approvals.models import Agent
    from approvals.services.rules import SaveRule, save_rule
    from tests.people import person

    owner = User.objects.create_user("owen")
    Agent.objects.create(user=User.objects.create_user("robo"), owner=owner)
    ann = person("ann", "approvers")
    save_rule(SaveRule(name="marker", priority=1, capability="tests.*", decision="ALLOW", author=ann))
    return {}


def agents(asked):
    from django.contrib.auth.models import User

    from approvals.models import Agent

    owner = User.objects.get(username="owen")
    for name in asked["names"]:
        Agent.objects.create(user=User.objects.create_user(name), owner=owner)
    return {}


def allow(asked):
    from django.contrib.auth.models import User

    from approvals.services.rules import SaveRule, save_rule

    ann = User.objects.get(username="ann")
    glob = asked["capability"]
    save_rule(
        SaveRule(name=f"allow-{glob.strip('.*')}", priority=2, capability=glob, decision="ALLOW", author=ann),
    )
    return {}


def workspace(asked):
    from django.contrib.auth.models import User

    from executions.models import Workspace, WorkspaceAccess

    row = Workspace.objects.create(name="ws", path=asked["path"], hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=row, user=User.objects.get(username="robo"))
    return {}


def submit(asked):
    from django.contrib.auth.models import User

    from executions.services import submit as service
    from executions.services.submission import parse

    caller = User.objects.get(username=asked.get("caller", "robo"))
    return {"ref": service.submit(parse(caller, asked["key"], asked["body"])).execution.ref}


def get(asked):
    from executions.models import Call, Execution, Worker
    from executions.services.sealed import unseal

    row = Execution.objects.get(pk=asked["ref"])
    calls = Call.objects.filter(execution=row).order_by("n")
    return {
        "status": row.status,
        "side_effect": row.side_effect,
        "error": row.error_code,
        "attempt": row.attempt,
        "result": unseal(row.sealed_result) if row.sealed_result else None,
        "calls": [[call.status, call.side_effect] for call in calls],
        "guests": list(row.attempts.values_list("guest_pid", flat=True)),
        "workers": Worker.objects.filter(stopped_at=None).count(),
    }


def events(asked):
    from forge_project.ledger.selectors import family_events

    return {"events": [{"kind": row.kind, "seq": row.seq} for row in family_events(asked["ref"])]}


def approve(asked):
    from django.contrib.auth.models import User

    from approvals.models import Approval
    from approvals.services.decide import Decide, decide
    from forge_project.kernel import clock

    row = Approval.objects.filter(execution_ref=asked["ref"], state="pending").order_by("n").first()
    if row is None:
        return {"approved": False}
    decide(
        Decide(
            approval_ref=row.ref,
            actor=User.objects.get(username="ann"),
            decision="approve",
            version=row.version,
            fingerprint=row.fingerprint,
            authenticated_at=clock.now(),
            method="session",
        )
    )
    return {"approved": True}


def signals(asked):
    from executions.outbox.models import Signal

    rows = Signal.objects.filter(execution=asked["ref"]).order_by("created_at", "ref")
    return {"kinds": [f"{row.kind} {row.approval_state or row.status}" for row in rows]}


def steps(asked):
    """The steps of each call's operation, and how often the execution was taken over."""
    from executions.models import Call
    from forge_project.ledger import selectors
    from forge_project.ledger.journal import journal

    calls = Call.objects.filter(execution=asked["ref"]).order_by("n")
    kinds = [event.kind for event in selectors.family_events(asked["ref"])]
    told = [[entry.state for entry in journal(call.operation_id)] for call in calls]
    return {"calls": told, "taken_over": kinds.count("execution.taken_over")}


def held(_):
    from executions.models import Execution

    return {"held": Execution.objects.exclude(worker=None).count()}


def cancel(asked):
    from executions.services import cancel as service

    stop = service.Cancel(execution_ref=asked["ref"], actor="user:robo", reason="enough")
    return {"status": service.cancel(stop).status}


def look_again(asked):
    from executions.models import Execution
    from executions.services.reobserve import reobserve_due
    from executions.services.runtime import Runtime
    from forge_project.kernel import clock

    Execution.objects.filter(pk=asked["ref"]).update(due_at=clock.now())
    return {"found": [found.became for found in reobserve_due(Runtime())]}


def subscribe(asked):
    from django.contrib.auth.models import User

    from executions.services.webhooks.subscribe import Subscribe
    from executions.services.webhooks.subscribe import subscribe as service

    return {"secret": service(Subscribe(owner=User.objects.get(username="robo"), url=asked["url"])).secret}


def deliveries(_):
    from executions.outbox.models import Delivery

    return {"states": list(Delivery.objects.order_by("pk").values_list("state", flat=True))}


def resume(asked):
    """Approves what waits; milliseconds until the call is dispatched."""
    import time
    from datetime import UTC, datetime

    from forge_project.ledger.models import Event

    began = datetime.now(UTC)
    approve(asked)
    while (event := Event.objects.filter(invocation=asked["ref"], kind="tool_dispatch").first()) is None:
        time.sleep(0.005)
    at = datetime.strptime(event.committed_at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    return {"ms": (at - began).total_seconds() * 1000}


def counts(_):
    from executions.models import Execution, Worker
    from executions.states import LIVE

    live = Execution.objects.filter(status__in=[status for status in LIVE if status != "waiting_approval"])
    return {"open": live.count(), "workers": Worker.objects.count()}


def record(_):
    from collections import Counter

    from executions.models import Call, Execution
    from executions.services.sealed import unseal

    applied = Call.objects.filter(side_effect="applied").values_list("sealed_input", flat=True)
    return {
        "applied": [unseal(token).get("text") for token in applied],
        "statuses": Counter(Execution.objects.values_list("status", flat=True)),
        "resumed": Execution.objects.filter(attempt__gt=1).count(),
    }


def main():
    import django

    import forge_project.celery  # noqa: F401  # hints go to the broker of the settings

    django.setup()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps((vars(crowd) | globals())[asked.pop("do")](asked)), flush=True)


if __name__ == "__main__":
    main()
