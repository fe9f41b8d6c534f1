"""Addresses under /api/v1/ that belong to executions."""

from django.urls import re_path

from executions.api import audit, capabilities, executions, resolution, signals, webhooks

_ONE = r"^executions/(?P<ref>exec_[0-9a-f]{32})"
urlpatterns = [
    re_path(r"^executions/$", executions.Executions.as_view(), name="executions"),
    re_path(r"^executions/lookup/$", executions.Lookup.as_view(), name="execution-lookup"),
    re_path(rf"{_ONE}/$", executions.One.as_view(), name="execution"),
    re_path(rf"{_ONE}/calls/$", audit.Calls.as_view(), name="execution-calls"),
    re_path(rf"{_ONE}/calls/(?P<n>[1-9][0-9]{{0,8}})/resolve/$", resolution.Resolution.as_view(), name="call-resolve"),
    re_path(rf"{_ONE}/attempts/$", audit.Attempts.as_view(), name="execution-attempts"),
    re_path(rf"{_ONE}/events/$", audit.Events.as_view(), name="execution-events"),
    re_path(rf"{_ONE}/output/$", audit.Output.as_view(), name="execution-output"),
    re_path(rf"{_ONE}/cancel/$", executions.Cancellation.as_view(), name="execution-cancel"),
    re_path(rf"{_ONE}/analysis/$", executions.Analysis.as_view(), name="execution-analysis"),
    re_path(r"^signals/$", signals.Signals.as_view(), name="signals"),
    re_path(
        r"^signals/(?P<ref>sig_[0-9a-f]{32})/acknowledge/$",
        signals.Acknowledgement.as_view(),
        name="signal-acknowledge",
    ),
    re_path(r"^webhooks/$", webhooks.Webhooks.as_view(), name="webhooks"),
    re_path(r"^webhooks/(?P<ref>hook_[0-9a-f]{32})/$", webhooks.OneWebhook.as_view(), name="webhook"),
    re_path(r"^capabilities/$", capabilities.Capabilities.as_view(), name="capabilities"),
    re_path(r"^capabilities/types\.d\.ts$", capabilities.Types.as_view(), name="capability-types"),
    re_path(r"^capabilities/(?P<name>[A-Za-z0-9.-]{1,150})/$", capabilities.OneCapability.as_view(), name="capability"),
]
