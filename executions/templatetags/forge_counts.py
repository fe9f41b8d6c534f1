"""`{% forge_counts as counts %}`: how much waits, runs and needs somebody, as of now."""

from typing import Any

from django import template

from approvals import selectors as approvals
from executions.selectors import attention

register = template.Library()


@register.simple_tag(takes_context=True)
def forge_counts(context: dict[str, Any]) -> dict[str, Any]:
    """{mine, waiting, queued, running, unknown, attention} for whom they concern; {} for who may see no execution."""
    user = context["request"].user
    found: dict[str, Any] = {}
    if user.has_perm("approvals.decide_approval"):
        found["mine"] = approvals.pending_for(user).count()
    if user.has_perm("executions.view_execution"):
        found |= {"by_status": attention.by_status(), "attention": attention.count()}
    return found
