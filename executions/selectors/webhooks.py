"""Which webhooks a user may see, and what each says."""

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import QuerySet

from approvals.eligibility import is_agent
from executions.outbox.models import Webhook
from forge_project.kernel import actors, clock


def visible_to(user: User) -> QuerySet[Webhook]:
    """`user`'s own; with `manage_webhook` all, but an agent's account never another's."""
    rows = Webhook.objects.select_related("owner").filter(deleted_at=None)
    if user.has_perm("executions.manage_webhook") and not is_agent(user):
        return rows
    return rows.filter(owner=user)


def as_json(row: Webhook, reader: User) -> dict[str, Any]:
    """The webhook without its secret; the whole URL for its owner alone."""
    told: dict[str, Any] = {
        "webhook_ref": row.pk,
        "owner": actors.of(row.owner),
        "origin": row.origin,
        "kinds": row.kinds,
        "everything": row.everything,
        "created_at": clock.text(row.created_at),
    }
    mine = {"url": settings.FORGE_SEALER.open(bytes(row.sealed_target))["url"]} if row.owner_id == reader.pk else {}
    return told | mine
