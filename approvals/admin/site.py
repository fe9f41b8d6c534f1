"""How the whole admin is called, and who gets in: people. Without the sidebar its lists have the page's width."""

from django.contrib import admin
from django.http import HttpRequest

from approvals.admin import log_in
from approvals.eligibility import is_agent


def people_only(request: HttpRequest) -> bool:
    """Active staff, and no agent's account whatever its flags and groups."""
    user = request.user
    return user.is_active and user.is_staff and not is_agent(user)


admin.site.site_header = "Forge"
admin.site.site_title = "Forge"
admin.site.index_title = "What waits, what runs, what happened"
admin.site.site_url = None
admin.site.enable_nav_sidebar = False
admin.site.has_permission = people_only  # type: ignore[method-assign]  # a site of our own would need its own AppConfig
admin.site.login_form = log_in.LogInForm
admin.site.login = log_in.log_in  # type: ignore[method-assign]
admin.site.password_change = log_in.change_password  # type: ignore[method-assign,assignment]
