"""Executions bear witness: each was written in one transaction with the invocation of its ref."""

from collections.abc import Iterable

from django.db.models import Exists, OuterRef

from executions.models import Execution
from forge_project.ledger.models import Invocation


def lost() -> Iterable[str]:
    """Refs whose invocation is gone from the ledger."""
    gone = Execution.objects.filter(~Exists(Invocation.objects.filter(pk=OuterRef("ref"))))
    return gone.order_by("ref").values_list("ref", flat=True).iterator(chunk_size=500)
