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


def waiting(_):
    """Refs that are neither terminal nor unknown."""
    from executions.models import Execution
    from executions.states import LIVE

    rows = Execution.objects.filter(status__in=LIVE).order_by("created_at")
    return {"open": list(rows.values_list("ref", "status", "quarantined"))}


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
