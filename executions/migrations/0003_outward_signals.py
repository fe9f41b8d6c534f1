"""What observers are told: signals, webhooks and their deliveries, and the permissions operators need for them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

NEEDED = [
    ("signal", "acknowledge_signal", "Can see and acknowledge everybody's signals"),
    ("webhook", "manage_webhook", "Can subscribe to everybody's signals, delete webhooks, retry deliveries"),
]


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
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
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
            },
        ),
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('ref', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('origin', models.CharField(max_length=300)),
                ('sealed_target', models.BinaryField(help_text='{url, secret}')),
                ('kinds', models.JSONField()),
                ('everything', models.BooleanField(default=False, help_text="everybody's executions, not the owner's alone")),
                ('created_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'permissions': [('manage_webhook', "Can subscribe to everybody's signals, delete webhooks, retry deliveries")],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('pending', 'Pending'), ('delivered', 'Delivered'), ('dead', 'Dead')], default='pending', max_length=10)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('due_at', models.DateTimeField()),
                ('answer', models.PositiveIntegerField(blank=True, help_text='the last HTTP status', null=True)),
                ('error', models.CharField(blank=True, default='', max_length=200)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('signal', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='executions.signal')),
                ('webhook', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='deliveries', to='executions.webhook')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.AddIndex(
            model_name='signal',
            index=models.Index(condition=models.Q(('acknowledged_at', None)), fields=['created_at', 'ref'], name='signal_unacknowledged'),
        ),
        migrations.AddConstraint(
            model_name='signal',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['EXECUTION_FINISHED', 'APPROVAL_REQUESTED', 'APPROVAL_DECIDED', 'RECOVERY_RESUME', 'UNKNOWN_REALITY'])), name='signal_kind'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('state', 'pending')), fields=['due_at'], name='delivery_due'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('webhook', 'signal'), name='delivery_once'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['pending', 'delivered', 'dead'])), name='delivery_state'),
        ),
        migrations.RunPython(create, migrations.RunPython.noop),
    ]
