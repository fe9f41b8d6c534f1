"""Addresses under /api/v1/ that belong to the ledger."""

from django.urls import re_path

from forge_project.ledger.api import views

_SESSION = r"^sessions/(?P<sid>[\x21-\x2e\x30-\x7e]{1,200})"
_RUN = rf"{_SESSION}/runs/(?P<rid>[\x21-\x2e\x30-\x7e]{{1,200}})"
urlpatterns = [
    re_path(rf"{_SESSION}/events/$", views.SessionEvents.as_view(), name="session-events"),
    re_path(rf"{_RUN}/events/$", views.RunEvents.as_view(), name="run-events"),
    re_path(rf"{_RUN}/events:batch/$", views.Batch.as_view(), name="run-events-batch"),
    re_path(rf"{_RUN}/partials/$", views.Partials.as_view(), name="run-partials"),
]
