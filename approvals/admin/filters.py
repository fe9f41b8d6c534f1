"""The queue's one filter: by state, and first of all what waits for the person who looks."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from approvals import selectors
from approvals.models import Approval
from approvals.states import State
from forge_project.kernel import clock

ALL = "all"


def waiting(request: HttpRequest) -> QuerySet[Approval]:
    """What the person may decide now; for who decides nothing, what waits for anybody. Oldest first."""
    user: Any = request.user
    if user.has_perm("approvals.decide_approval"):
        return selectors.pending_for(user)
    rows = selectors.visible_to(user).filter(state=State.PENDING, expires_at__gt=clock.now())
    return rows.order_by("requested_at", "ref")


class StateFilter(admin.SimpleListFilter):
    """No parameter = the queue."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every state, and all of them."""
        return [*((state.value, state.label) for state in State), (ALL, "All")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Approval]) -> QuerySet[Approval]:
        """The queue, one state, or all."""
        match self.value():
            case None:
                return queryset.filter(pk__in=waiting(request).order_by().values("pk"))
            case str(state) if state != ALL:
                return queryset.filter(state=state) if state in State.values else queryset.none()
            case _:
                return queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Each with how many there are."""
        counted: dict[str, int] = dict(changelist.root_queryset.order_by().values_list("state").annotate(n=Count("pk")))
        counts = counted | {ALL: sum(counted.values())}
        mine = changelist.model_admin.may_decide(self.request)
        first = ("Waiting for me" if mine else "Waiting for a person", waiting(self.request).count())
        yield self._choice(changelist, None, *first)
        for value, label in self.lookup_choices:
            yield self._choice(changelist, str(value), str(label), counts.get(str(value), 0))

    def _choice(self, changelist: Any, value: str | None, label: str, count: int) -> dict[str, Any]:
        where = {"remove": [self.parameter_name]} if value is None else {"new_params": {self.parameter_name: value}}
        return {
            "selected": self.value() == value,
            "query_string": changelist.get_query_string(**where),
            "display": f"{label} ({count})",
        }
