"""What observers are told: signals, and the permissions operators need for them."""

import django.db.models.deletion
from django.db import migrations, models

NEEDED = [("signal", "acknowledge_signal", "Can see and acknowledge everybody's signals")]


def create(apps, schema_editor):
    """Gives operators what Django would only make after all migrations; it finds these by codename."""
    using = schema_editor.connection.alias
    ContentType = apps.get_model("contenttypes", "ContentType")
    Permission = apps.get_model("auth", "Permission")
    group, _ = apps.get_model("auth", "Group").objects.using(using).get_or_create(name="operators")
    for model, codename, name in NEEDED:
        kind, _ = ContentType.objects.using(using).get_or_create(app_label="executions", model=model)
        permission, _ = Permission.objects.using(using).get_or_create(
            content_type=kind, codename=codename, defaults={"name": name}
        )
        group.permissions.add(permission)


class Migration(migrations.Migration):

    dependencies = [
        ("approvals", "0002_groups"),
        ("executions", "0002_life_record"),
    ]

    operations = [
        migrations.CreateModel(
            name='Signal',
            fields=[
                ('ref', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('EXECUTION_FINISHED', 'Execution Finished'), ('APPROVAL_REQUESTED', 'Approval Requested'), ('APPROVAL_DECIDED', 'Approval Decided'), ('RECOVERY_RESUME', 'Recovery Resume'), ('UNKNOWN_REALITY', 'Unknown Reality')], max_length=20)),
                ('attempt', models.PositiveIntegerField()),
                ('status', models.CharField(max_length=20)),
                ('side_effect', models.CharField(max_length=20)),
                ('error_code', models.CharField(blank=True, default='', max_length=40)),
                ('approval_ref', models.CharField(blank=True, default='', max_length=40)),
                ('approval_state', models.CharField(blank=True, default='', max_length=10)),
                ('created_at', models.DateTimeField()),
                ('acknowledged_at', models.DateTimeField(blank=True, null=True)),
                ('acknowledged_by', models.CharField(blank=True, default='', max_length=200)),
                ('execution', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='signals', to='executions.execution')),
            ],
            options={
                'permissions': [('acknowledge_signal', "Can see and acknowledge everybody's signals")],
                'indexes': [models.Index(condition=models.Q(('acknowledged_at', None)), fields=['created_at', 'ref'], name='signal_unacknowledged')],
                'constraints': [models.CheckConstraint(condition=models.Q(('kind__in', ['EXECUTION_FINISHED', 'APPROVAL_REQUESTED', 'APPROVAL_DECIDED', 'RECOVERY_RESUME', 'UNKNOWN_REALITY'])), name='signal_kind')],
            },
        ),
        migrations.RunPython(create, migrations.RunPython.noop),
    ]
