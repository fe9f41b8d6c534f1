"""What every admin page of Forge shares: it shows, it changes nothing, and it writes out deceptive characters."""

import json
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from forge_project.kernel import clock, visible
from forge_project.kernel.errors import ForgeError

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin
Cell = Callable[[Any], str]


class ForgeAdmin(Base):
    """Forge's templates and style sheet."""

    change_list_template = "admin/forge/change_list.html"
    change_form_template = "admin/forge/change_form.html"
    show_full_result_count = False
    list_per_page = 50

    class Media:
        css = {"all": ["approvals/admin.css"]}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        """As Django's, but an id no column can hold is simply not there."""
        found: Model | None = None if "\0" in object_id else super().get_object(request, object_id, from_field)
        return found

    def changeform_view(
        self, request: HttpRequest, object_id: str | None = None, form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:  # fmt: skip
        """As Django's; what a service refuses is a message on the list, and nothing is changed."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except ForgeError as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
            return HttpResponseRedirect(reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist"))

    def heading(self, row: Any) -> str:
        """What titles and breadcrumbs call a row: never an agent's words."""
        return str(row.pk)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *rest: Any, **named: Any) -> Any:
        """As Django's, under `heading` instead of `__str__`."""
        row = context.get("original")
        told = {"subtitle": self.heading(row) if row else None}
        return super().render_change_form(request, context | told, *rest, **named)


class ReadOnlyAdmin(ForgeAdmin):
    """Facts are looked at, never added, changed or deleted."""

    actions: Any = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


@cache  # Django compares columns by identity
def shown(field: str, label: str = "", *, first: int | None = None) -> Cell:
    """A column of `field` as text, deceptive characters written out; its `first` characters, if given. Never a link."""

    @admin.display(description=label or field.replace("_", " "), ordering=field)
    def cell(row: Any) -> str:
        return visible.said(str(getattr(row, field) or "-"))[:first]

    cell.__name__ = field
    return cell


@cache
def pretty(field: str, label: str = "") -> Cell:
    """A column of JSON (a value, or its text), indented, whole, deceptive characters written out."""

    @admin.display(description=label or field.replace("_", " "))
    def cell(row: Any) -> str:
        return block(getattr(row, field))

    cell.__name__ = field
    return cell


@cache
def moment(field: str, label: str = "") -> Cell:
    """A column of a time, to the second, with its zone."""

    @admin.display(description=label or field.replace("_", " "), ordering=field)
    def cell(row: Any) -> str:
        return when(getattr(row, field)) or "-"

    cell.__name__ = field
    return cell


def when(at: datetime | None) -> SafeString | str:
    """`2026-01-31 12:00:00 UTC`, for eyes and for machines."""
    text = clock.text(at) if at else ""
    return format_html('<time datetime="{}">{} {} UTC</time>', text, text[:10], text[11:19]) if at else ""


def block(value: Any) -> SafeString | str:
    """JSON, or else text, in a box that scrolls by itself."""
    if value in (None, "", {}, []):
        return "-"
    text = visible.said(_indented(value))
    return format_html('<pre class="forge-block" tabindex="0">{}</pre>', text)


def _indented(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    return json.dumps(value, indent=2, ensure_ascii=False)
