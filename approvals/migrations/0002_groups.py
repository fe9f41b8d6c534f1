"""The roles: four groups, and the permissions they need where Django has not made them yet."""

from django.db import migrations

SEE = [
    ("approvals", "approval", "view_approval"),
    ("executions", "execution", "view_execution"),
    ("ledger", "event", "view_event"),
    ("artifacts", "artifact", "view_artifact"),
]
SEE_SETTINGS = [
    ("approvals", "policyrule", "view_policyrule"),
    ("approvals", "agent", "view_agent"),
    ("executions", "workspace", "view_workspace"),
    ("knox", "authtoken", "view_authtoken"),
]
ROLES = {
    "agents": [],
    "approvers": [*SEE, ("approvals", "approval", "decide_approval")],
    "operators": [
        *SEE,
        *SEE_SETTINGS,
        ("executions", "execution", "cancel_execution"),
        ("executions", "execution", "resolve_execution"),
        ("approvals", "policyrule", "add_policyrule"),
        ("approvals", "policyrule", "change_policyrule"),
        ("executions", "workspace", "add_workspace"),
        ("executions", "workspace", "change_workspace"),
        ("approvals", "agent", "add_agent"),
        ("knox", "authtoken", "delete_authtoken"),
    ],
    "auditors": [*SEE, *SEE_SETTINGS],
}
LABELS = {"policyrule": "policy rule", "authtoken": "auth token"}  # as Django's own post_migrate names them


def create(apps, schema_editor):
    """Django makes permissions after all migrations; it finds these by codename and leaves them alone."""
    using = schema_editor.connection.alias
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    Group = apps.get_model("auth", "Group")
    for role, needed in ROLES.items():
        group, _ = Group.objects.using(using).get_or_create(name=role)
        for app, model, codename in needed:
            kind, _ = ContentType.objects.using(using).get_or_create(app_label=app, model=model)
            verb = codename.partition("_")[0]
            named = {"name": f"Can {verb} {LABELS.get(model, model)}"}
            permission, _ = Permission.objects.using(using).get_or_create(
                content_type=kind, codename=codename, defaults=named
            )
            group.permissions.add(permission)


class Migration(migrations.Migration):
    dependencies = [
        ("approvals", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
