"""The page of what somebody must look at."""

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from executions.models import Execution
from executions.selectors.attention import Concern, concerns
from forge_project.kernel import visible
from forge_project.kernel.read_only import ForgeAdmin


def page(site: ForgeAdmin, request: HttpRequest) -> HttpResponse:
    """Each concern with its oldest cases."""
    context = {
        **site.admin_site.each_context(request),
        "title": "Needs attention",
        "opts": site.model._meta,
        "media": site.media,
        "concerns": [_shown(concern) for concern in concerns()],
    }
    return TemplateResponse(request, "admin/executions/execution/attention.html", context)


def _shown(concern: Concern) -> Concern:
    for row in concern.rows:
        row.why = _why(row)  # type: ignore[attr-defined]  # for the template alone
    return concern


def _why(row: Execution) -> str:
    worker = f"worker {row.worker}, last heard {row.worker.heartbeat:%Y-%m-%d %H:%M:%S} UTC" if row.worker else ""
    told = [row.quarantined, row.error_code, row.error_message, worker]
    return "; ".join(visible.said(text) for text in told if text) or "-"
