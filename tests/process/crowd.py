"""What the hand can do where many executions run at once; each takes what was asked as a dict, answers a dict."""


def tokens(asked):
    from django.contrib.auth.models import User
    from knox.models import AuthToken

    return {name: AuthToken.objects.create(user=User.objects.get(username=name))[1] for name in asked["names"]}


def grant(asked):
    from django.contrib.auth.models import User

    from executions.models import Workspace, WorkspaceAccess

    place = Workspace.objects.get(name="ws")
    users = User.objects.filter(username__in=asked["names"])
    WorkspaceAccess.objects.bulk_create([WorkspaceAccess(workspace=place, user=user) for user in users])
    return {}


def decide_all(asked):
    """Answers everything that waits, one in ten with no; a decision that came too late is no fault."""
    from django.contrib.auth.models import User

    from approvals.models import Approval
    from approvals.services.decide import Decide, decide
    from forge_project.kernel import clock
    from forge_project.kernel.errors import ForgeError

    ann, told = User.objects.get(username="ann"), 0
    for row in Approval.objects.filter(state="pending").order_by("requested_at")[: asked.get("limit", 100)]:
        yes = asked.get("always") or int(row.ref[-8:], 16) % 10
        seen = {"version": row.version, "fingerprint": row.fingerprint, "reason": "" if yes else "one in ten"}
        choice = "approve" if yes else "deny"
        now = clock.now()
        try:
            decide(
                Decide(approval_ref=row.ref, actor=ann, decision=choice, authenticated_at=now, method="session", **seen)
            )
            told += 1
        except ForgeError:
            continue
    return {"decided": told}


def hint(_):
    from executions.services import hints

    hints.send()
    return {}


def keys(_):
    from executions.models import Execution

    return {"keys": list(Execution.objects.values_list("idempotency_key", flat=True))}


def moves(_):
    """What is neither terminal nor unknown: how far it is, and whether a person, or the lack of a worker, keeps it."""
    from django.conf import settings

    from approvals.models import Approval
    from executions.models import CallerLoad, Execution
    from executions.states import LIVE
    from forge_project.ledger.models import Invocation

    rows = list(Execution.objects.filter(status__in=LIVE).order_by("created_at"))
    asked = set(Approval.objects.filter(state="pending").values_list("execution_ref", flat=True))
    heads = dict(Invocation.objects.filter(pk__in=[row.invocation_id for row in rows]).values_list("pk", "head_seq"))
    full = set(CallerLoad.objects.filter(running__gte=settings.FORGE_CALLER_RUNNING).values_list("pk", flat=True))
    living = _living()
    slots = living * settings.FORGE_WORKER_THREADS - sum(row.worker_id is not None for row in rows)

    def kept(row):
        if row.status == "waiting_approval":
            return row.ref in asked
        return not living or (row.status == "queued" and (slots <= 0 or row.caller_id in full))

    return {
        "open": [
            {
                "ref": row.ref,
                "status": row.status,
                "mark": f"{row.invocation_id} at {heads.get(row.invocation_id)}",
                "kept": kept(row),
                "why": f"{row.quarantined} due {row.due_at} attempt {row.attempt} crashes {row.crashes}",
            }
            for row in rows
        ]
    }


def _living():
    """Workers whose heart beats."""
    from datetime import timedelta

    from django.db.models.functions import Now

    from executions.models import Worker

    return Worker.objects.filter(stopped_at=None, heartbeat__gte=Now() - timedelta(seconds=5)).count()


def applied(_):
    """What the record says was applied: markers by their text, files by their path."""
    from executions.models import Call
    from executions.services.sealed import unseal

    rows = Call.objects.filter(side_effect="applied").values_list("sealed_input", flat=True)
    return {"applied": [told.get("text", told.get("path")) for told in map(unseal, rows)]}


def standing(_):
    """How many executions stand where."""
    from collections import Counter

    from executions.models import Execution

    return Counter(Execution.objects.values_list("status", flat=True))


def size(_):
    """Bytes of the database."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        else:
            cursor.execute("SELECT pg_database_size(current_database())")
        return {"bytes": cursor.fetchone()[0]}
