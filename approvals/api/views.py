"""List, read, decide, revoke; the agent's answers."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from approvals import proof, selectors
from approvals.api import schemas
from approvals.models import Approval
from approvals.services import Answer, Decide, Revoke, answer, decide, revoke
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import Order, moment, page, ref
from forge_project.kernel.edge.requests import Query, read_query, user_of
from forge_project.kernel.errors import Missing

NEWEST = Order((("requested_at", moment), ("ref", ref)), descending=True)
_FILTERS = {"state": "state", "risk": "risk", "capability": "capability", "execution": "execution_ref"}


def _seen(request: Request, approval_ref: str) -> Approval:
    """The approval, if this reader may see it; raises Missing."""
    found = selectors.visible_to(user_of(request)).filter(pk=approval_ref).first()
    if found is None:
        raise Missing("no such approval", approval=approval_ref)
    return found


def _proof(request: Request, password: str | None = None) -> dict[str, Any]:
    """How, when and from where this person proved who they are."""
    return proof.of(request._request, user_of(request), auth=request.auth, password=password)


class Approvals(APIView):
    """Questions to people."""

    @extend_schema(
        operation_id="approvals_list",
        parameters=[schemas.Filters],
        responses={200: paged(schemas.Approval), **problems()},
    )
    def get(self, request: Request) -> Response:
        """Those this reader may see: an agent its own, a person who may view approvals all."""
        query = read_query(request, schemas.Filters)
        fit = {_FILTERS[name]: value for name, value in query.items() if name in _FILTERS}
        found = page(request, selectors.visible_to(user_of(request)).filter(**fit), NEWEST, query)
        return found.answer([selectors.as_json(row) for row in found.rows])


class One(APIView):
    """One question."""

    @extend_schema(operation_id="approvals_read", responses={200: schemas.OneApproval, **problems(404)})
    def get(self, request: Request, ref: str) -> Response:
        """All that is shown to the person who decides."""
        read_query(request, Query)
        row = _seen(request, ref)
        before = [{"approval_ref": old.pk, "decided_by": old.decided_by and old.decided_by.username,
                   "reason": old.reason} for old in selectors.denied_before(row)]  # fmt: skip
        return Response(selectors.as_json(row) | {"denied_before": before})


class Decision(APIView):
    """A person's answer."""

    throttle_scope = "decide"

    @extend_schema(
        operation_id="approvals_decide",
        request={"application/json": schemas.DECIDE.schema},
        responses={200: schemas.Approval, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Approves or denies what was seen: for another version or fingerprint, 409 and who was first."""
        read_query(request, Query)
        row = _seen(request, ref)
        said = schemas.DECIDE.read(request)
        password = said.pop("password", None)
        row = decide(Decide(approval_ref=row.pk, actor=user_of(request), **said, **_proof(request, password)))
        return Response(selectors.as_json(row))


class Revocation(APIView):
    """An approval, or a question, taken back."""

    throttle_scope = "decide"

    @extend_schema(
        operation_id="approvals_revoke",
        request={"application/json": schemas.REVOKE.schema},
        responses={200: schemas.Approval, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Possible until it was used."""
        read_query(request, Query)
        row = _seen(request, ref)
        said = schemas.REVOKE.read(request)
        return Response(selectors.as_json(revoke(Revoke(approval_ref=row.pk, actor=user_of(request), **said))))


class Answering(APIView):
    """What the agent says to a question about its request."""

    @extend_schema(
        operation_id="approvals_answer",
        request={"application/json": schemas.ANSWER.schema},
        responses={200: schemas.Approval, **problems(403, 404, 409, 413, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """For the caller alone. The first answer stays; the same one again is fine."""
        read_query(request, Query)
        row = _seen(request, ref)
        said = schemas.ANSWER.read(request)
        return Response(selectors.as_json(answer(Answer(approval_ref=row.pk, actor=user_of(request), **said))))
