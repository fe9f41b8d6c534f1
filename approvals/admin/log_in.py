"""The admin's own forms that take a password: too many wrong ones are told with the time to wait, and answered 429."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm, AdminPasswordChangeForm
from django.contrib.admin.sites import AdminSite
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from approvals import passwords
from forge_project.kernel.errors import Denied, TooMany


class LogInForm(AdminAuthenticationForm):
    """As Django's."""

    wait = 0

    def clean(self) -> dict[str, Any]:
        """The same words for a name that is there and one that is not."""
        try:
            return super().clean()
        except TooMany as full:
            self.wait = full.facts["retry_after"]
            raise _locked(full) from None


class OwnPasswordForm(AdminPasswordChangeForm):
    """A new password for the old one."""

    wait = 0

    def clean_old_password(self) -> str:
        """Counted like any other password."""
        old: str = self.cleaned_data["old_password"]
        user: Any = self.user
        try:
            passwords.check(User.objects.get(pk=user.pk), old)
        except Denied:
            wrong = self.error_messages["password_incorrect"]
            raise forms.ValidationError(wrong, code="password_incorrect") from None
        except TooMany as full:
            self.wait = full.facts["retry_after"]
            raise _locked(full) from None
        return old


def log_in(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """The admin's log-in."""
    return _answered(AdminSite.login(admin.site, request, extra_context))


def change_password(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
    """A person's own password."""
    view: Any = PasswordChangeView.as_view(
        form_class=OwnPasswordForm,
        success_url=reverse("admin:password_change_done"),
        extra_context=admin.site.each_context(request) | (extra_context or {}),
    )
    return _answered(view(request))


def _locked(full: TooMany) -> forms.ValidationError:
    return forms.ValidationError(f"{full.message[:1].upper()}{full.message[1:]}.", code=full.facts["rule"])


def _answered(answer: HttpResponse) -> HttpResponse:
    form = (getattr(answer, "context_data", None) or {}).get("form")
    if wait := getattr(form, "wait", 0):
        answer.status_code = 429
        answer["Retry-After"] = str(wait)
    return answer
