"""Django's own pages of accounts and groups, for superusers: what changes in who may do what is a governance fact."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.db.models import Manager, Model, QuerySet
from django.http import HttpRequest, HttpResponse

from forge_project.kernel import actors
from forge_project.ledger.governance import governing, record

admin.site.unregister([User, Group])


def _rights(held: Manager[Permission]) -> list[str]:
    found = held.values_list("content_type__app_label", "codename").order_by("content_type__app_label", "codename")
    return [f"{app}.{codename}" for app, codename in found]


def of_user(user: User) -> dict[str, Any]:
    """What decides who this is and what they may do; never the password."""
    return {
        "name": user.username,
        "active": user.is_active,
        "staff": user.is_staff,
        "superuser": user.is_superuser,
        "groups": sorted(user.groups.values_list("name", flat=True)),
        "permissions": _rights(user.user_permissions),
    }


def of_group(group: Group) -> dict[str, Any]:
    """What its members may do."""
    return {"name": group.name, "permissions": _rights(group.permissions)}


class _Governed:
    """Beside an admin of Django's: the fact is in the transaction of the change."""

    model: type[Model]
    word: str
    standing: Callable[[Any], dict[str, Any]]

    def save_form(self, request: HttpRequest, form: Any, change: bool) -> Any:
        """Called while nothing is written yet."""
        form.before = self._stands(form.instance.pk) if change else {}
        return super().save_form(request, form, change)  # type: ignore[misc]

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Called when all is written; what stays the same is left out."""
        super().save_related(request, form, formsets, change)  # type: ignore[misc]
        after = self._stands(form.instance.pk)
        new = {name: value for name, value in after.items() if form.before.get(name) != value}
        if not new:
            return
        was = {"was": {name: form.before[name] for name in new}} if change else {}
        verb = "changed" if change else "added"
        record(f"{self.word}.{verb}", actor=self._who(request), **{"name": after["name"]} | new | was)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """One."""
        with governing():
            record(f"{self.word}.deleted", actor=self._who(request), **self._stands(obj.pk))
            super().delete_model(request, obj)  # type: ignore[misc]

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """Those selected: all of them, or none."""
        with governing():
            for row in queryset:
                self.delete_model(request, row)

    def _stands(self, pk: Any) -> dict[str, Any]:
        return type(self).standing(self.model._default_manager.get(pk=pk))

    def _who(self, request: HttpRequest) -> str:
        return actors.of(request.user)


@admin.register(User)
class PersonAdmin(_Governed, UserAdmin):  # type: ignore[type-arg]
    word, standing = "account", staticmethod(of_user)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """As Django's; that somebody's password was set by another is a fact, the password is none."""
        if request.method != "POST":
            return super().user_change_password(request, id, form_url)
        with governing():
            answer = super().user_change_password(request, id, form_url)
            if answer.status_code == 302 and answer["Location"] != request.get_full_path():  # there: form refused
                name = User.objects.get(pk=id).username
                record("account.password_set", actor=self._who(request), name=name)
        return answer


@admin.register(Group)
class RoleAdmin(_Governed, GroupAdmin):  # type: ignore[misc]
    word, standing = "group", staticmethod(of_group)
