"""Standing grants: make, list, read, vote, revoke."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from approvals import proof, selectors
from approvals.api import schemas
from approvals.models import Grant
from approvals.services import MakeGrant, RevokeGrant, VoteGrant, make_grant, revoke_grant, vote_grant
from approvals.services.grants import Proof
from forge_project.kernel.edge.openapi import paged, problems
from forge_project.kernel.edge.paging import Order, PageQuery, moment, page, ref
from forge_project.kernel.edge.requests import Query, read_query, user_of
from forge_project.kernel.errors import Missing

NEWEST = Order((("created_at", moment), ("ref", ref)), descending=True)


def _proof(request: Request) -> Proof:
    user = user_of(request)
    return Proof(actor=user, **proof.of(request._request, user, auth=request.auth))


def _seen(request: Request, grant_ref: str) -> Grant:
    """The grant, if this reader may see it; raises Missing."""
    found = selectors.grants_visible_to(user_of(request)).filter(pk=grant_ref).first()
    if found is None:
        raise Missing("no such grant", grant=grant_ref)
    return found


def _answer(grant: Grant, status: int = 200) -> Response:
    return Response(selectors.grant_json(selectors.grant(grant.pk)), status)


class MakeOne(APIView):
    """A standing grant, made at a question that waits."""

    @extend_schema(
        operation_id="grants_make",
        request={"application/json": schemas.GRANT.schema},
        responses={201: schemas.Grant, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Lets this and similar pass; the condition must hold for this request, which is answered by it."""
        read_query(request, Query)
        if not selectors.visible_to(user_of(request)).filter(pk=ref).exists():
            raise Missing("no such approval", approval=ref)
        said: dict[str, Any] = schemas.GRANT.read(request)
        return _answer(make_grant(MakeGrant(approval_ref=ref, proof=_proof(request), **said)), 201)


class Grants(APIView):
    """Standing grants."""

    @extend_schema(
        operation_id="grants_list", parameters=[PageQuery], responses={200: paged(schemas.Grant), **problems()}
    )
    def get(self, request: Request) -> Response:
        """Those this reader may see: an agent its own, a person who may view approvals all."""
        query = read_query(request, PageQuery)
        found = page(request, selectors.grants_visible_to(user_of(request)), NEWEST, query)
        return found.answer([selectors.grant_json(row) for row in found.rows])


class OneGrant(APIView):
    """One standing grant."""

    @extend_schema(operation_id="grants_read", responses={200: schemas.Grant, **problems(404)})
    def get(self, request: Request, ref: str) -> Response:
        """What it lets pass, how often it did, until when."""
        read_query(request, Query)
        return _answer(_seen(request, ref))


class GrantVoting(APIView):
    """One vote more."""

    @extend_schema(
        operation_id="grants_vote",
        request={"application/json": schemas.VOTE.schema},
        responses={200: schemas.Grant, **problems(403, 404, 409, 413, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """Agrees to a grant that needs several votes."""
        read_query(request, Query)
        row = _seen(request, ref)
        said = schemas.VOTE.read(request)
        return _answer(vote_grant(VoteGrant(grant_ref=row.pk, proof=_proof(request), **said)))


class GrantRevocation(APIView):
    """A grant taken back."""

    @extend_schema(
        operation_id="grants_revoke",
        request={"application/json": schemas.REVOKE.schema},
        responses={200: schemas.Grant, **problems(403, 404, 409, 415)},
    )
    def post(self, request: Request, ref: str) -> Response:
        """At once: what it approved and was not used yet can't be used any more."""
        read_query(request, Query)
        row = _seen(request, ref)
        said = schemas.REVOKE.read(request)
        return _answer(revoke_grant(RevokeGrant(grant_ref=row.pk, actor=user_of(request), **said)))
