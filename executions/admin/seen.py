"""Pages of an execution's parts: who may see the execution may see them."""

from django.db.models import Model
from django.http import HttpRequest

from forge_project.kernel.read_only import ReadOnlyAdmin


class PartAdmin(ReadOnlyAdmin):
    """Read-only under the one permission `view_execution`."""

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As for the execution."""
        return request.user.has_perm("executions.view_execution")

    def has_module_permission(self, request: HttpRequest) -> bool:
        """As `has_view_permission`."""
        return self.has_view_permission(request)
