"""Every address of Forge."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView
from drf_spectacular.views import SpectacularAPIView

from executions.api.docs import Docs
from executions.api.health import Healthz, Readyz

handler400 = "forge_project.kernel.http.bad_request"
handler404 = "forge_project.kernel.http.not_found"
handler500 = "forge_project.kernel.http.server_error"
urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("api/v1/", include("executions.api.urls")),
    path("api/v1/", include("approvals.api.urls")),
    path("api/v1/", include("forge_project.ledger.api.urls")),
    path("api/v1/schema/", SpectacularAPIView.as_view(), name="schema"),
    path("api/v1/docs/", Docs.as_view(), name="docs"),
    path("healthz", Healthz.as_view(), name="healthz"),
    path("readyz", Readyz.as_view(), name="readyz"),
]
