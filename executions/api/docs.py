"""The API's description as a page to read and to try; for everybody, like the description itself."""

from django.views.generic import TemplateView


class Docs(TemplateView):
    """Swagger UI from our own files: nothing inline, nothing from elsewhere."""

    template_name = "executions/docs.html"
