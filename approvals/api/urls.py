"""Addresses under /api/v1/ that belong to approvals."""

from django.urls import re_path

from approvals.api import grants, views

_ONE = r"^approvals/(?P<ref>appr_[0-9a-f]{32})"
_GRANT = r"^grants/(?P<ref>grant_[0-9a-f]{32})"
urlpatterns = [
    re_path(r"^approvals/$", views.Approvals.as_view(), name="approvals"),
    re_path(rf"{_ONE}/$", views.One.as_view(), name="approval"),
    re_path(rf"{_ONE}/decide/$", views.Decision.as_view(), name="approval-decide"),
    re_path(rf"{_ONE}/revoke/$", views.Revocation.as_view(), name="approval-revoke"),
    re_path(rf"{_ONE}/answer/$", views.Answering.as_view(), name="approval-answer"),
    re_path(rf"{_ONE}/grant/$", grants.MakeOne.as_view(), name="approval-grant"),
    re_path(r"^grants/$", grants.Grants.as_view(), name="grants"),
    re_path(rf"{_GRANT}/$", grants.OneGrant.as_view(), name="grant"),
    re_path(rf"{_GRANT}/vote/$", grants.GrantVoting.as_view(), name="grant-vote"),
    re_path(rf"{_GRANT}/revoke/$", grants.GrantRevocation.as_view(), name="grant-revoke"),
]
