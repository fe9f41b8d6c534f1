"""The API tokens: whose, from when, until when, and their end. No page shows a token, its prefix or its digest."""

from typing import Any

import knox.admin  # registers a page that makes tokens and shows digests; it is replaced here
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from knox.models import AuthToken

from approvals.services import revoke_tokens
from forge_project.kernel import actors
from forge_project.kernel.read_only import ReadOnlyAdmin, moment

admin.site.unregister(knox.models.AuthToken)


@admin.register(AuthToken)
class TokenAdmin(ReadOnlyAdmin):
    list_display: Any = ["user", moment("created"), moment("expiry", "ends")]
    list_display_links = None
    list_select_related = ["user"]
    search_fields = ["=user__username"]
    search_help_text = "a whole account name"
    ordering = ["-created"]
    actions = ["revoke"]

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Django's own delete pages would show the digest; the action is the one way."""
        return request.user.has_perm("knox.delete_authtoken")

    def change_view(self, request: HttpRequest, *rest: Any, **named: Any) -> HttpResponse:
        """There is nothing more to see than the list."""
        raise PermissionDenied

    history_view = change_view

    @admin.action(description="Revoke selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """At once: the next request with it is refused."""
        for token in revoke_tokens(queryset, actor=actors.of(request.user)):
            self.message_user(request, f"A token of {token.user} is revoked", messages.SUCCESS)
