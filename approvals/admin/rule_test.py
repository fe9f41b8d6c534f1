"""The page where an operator tries examples on the policy."""

import json

from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from approvals import selectors
from approvals.admin import words
from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid
from forge_project.kernel.read_only import ForgeAdmin

TEMPLATE = "admin/approvals/policyrule/test.html"
MAX_TEXT = 200_000
EXAMPLE = [{"caller": "", "workspace": "", "capability": "file.write", "input": {"path": "docs/a.md", "content": "x"}}]


def render(site: ForgeAdmin, request: HttpRequest) -> HttpResponse:
    """The form; after a POST with what was said of each example, or with the fault."""
    text, tried, fault = json.dumps(EXAMPLE, indent=1), [], ""
    if request.method == "POST":
        text = request.POST.get("examples", "")
        try:
            if len(text) > MAX_TEXT:
                raise Invalid(f"at most {MAX_TEXT} characters", path="")
            tried = selectors.try_examples(strict_json.loads(text))
        except Invalid as refusal:
            fault = refusal.message
    context = {
        **site.admin_site.each_context(request),
        "title": "Test the policy",
        "opts": site.model._meta,
        "media": site.media,
        "examples": text,
        "tried": [(one.right, words.safe(one.said)) for one in tried],
        "fault": words.safe(fault),
    }
    return TemplateResponse(request, TEMPLATE, context, status=400 if fault else 200)
