"""Every address of Forge."""

from django.contrib import admin
from django.urls import path

handler404 = "forge_project.kernel.http.not_found"
urlpatterns = [path("admin/", admin.site.urls)]
