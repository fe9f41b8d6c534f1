"""People and roles for tests. A flush takes the groups that the migration made; they are made again here."""

from importlib import import_module
from types import SimpleNamespace

from django.apps import apps
from django.contrib.auth.models import Group, User
from django.db import connection

PASSWORD = "a long enough password"


def roles():
    for app, migration in [("approvals", "0002_groups"), ("executions", "0003_outward_signals")]:
        import_module(f"{app}.migrations.{migration}").create(apps, SimpleNamespace(connection=connection))


def person(name, *groups):
    roles()
    user = User.objects.create_user(name, password=PASSWORD, is_staff=True)
    user.groups.set(Group.objects.filter(name__in=groups))
    return user
