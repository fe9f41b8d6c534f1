"""Rules in full, votes, standing grants and notices. Tables that are made anew on SQLite lose their triggers."""

from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


first = import_module("approvals.migrations.0003_final_and_immutable")
ASKED = [*first.ASKED, "snapshot", "votes_needed", "approvers"]
RULE = [
    *first.RULE, "caller_group", "workspace", "workspace_kind", "isolation", "effects", "condition", "risk",
    "reviewer_may_allow", "approval_required", "votes", "approvers", "ttl_seconds",
]
GRANT = (
    "ref source_id caller_id execution_ref capability workspace condition sentence rule rule_version approvers "
    "votes_needed max_uses seconds created_at"
).split()


def guards(vendor):
    """As in 0003, over every column there is now; what was granted is not widened, what has ended stays so."""
    different, ended = first.differs(ASKED, vendor), f"OLD.state IN ({first.ENDED})"
    return [
        ("approvals_approval", ended, "this approval has ended"),
        ("approvals_approval", different, "what was asked is not reworded"),
        ("approvals_policyrule", f"OLD.retired_at IS NOT NULL OR {first.differs(RULE, vendor)}", "rules are versioned"),
        ("approvals_grant", f"OLD.ended_at IS NOT NULL OR NEW.uses < OLD.uses OR {first.differs(GRANT, vendor)}",
         "a grant is not widened"),
        ("approvals_vote", "NEW.id = OLD.id", "a vote is not changed"),
        ("approvals_grantvote", "NEW.id = OLD.id", "a vote is not changed"),
    ]


def make(schema_editor, listed):
    vendor = schema_editor.connection.vendor
    for n, (table, condition, said) in enumerate(listed):
        head = f"CREATE TRIGGER approvals_guard_{n} BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({condition})"
        if vendor == "sqlite":
            schema_editor.execute(f"{head} BEGIN SELECT RAISE(ABORT, '{said}'); END", None)
        else:
            schema_editor.execute(f"{head} EXECUTE FUNCTION approvals_refuse('{said}')", None)


def drop(schema_editor, listed):
    for n, (table, _, _) in enumerate(listed):
        on = "" if schema_editor.connection.vendor == "sqlite" else f" ON {table}"
        schema_editor.execute(f"DROP TRIGGER IF EXISTS approvals_guard_{n}{on}", None)


def drop_old(apps, schema_editor):
    drop(schema_editor, first.guards(schema_editor.connection.vendor))


def make_old(apps, schema_editor):
    make(schema_editor, first.guards(schema_editor.connection.vendor))


def make_new(apps, schema_editor):
    make(schema_editor, guards(schema_editor.connection.vendor))


def drop_new(apps, schema_editor):
    drop(schema_editor, guards(schema_editor.connection.vendor))


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0003_final_and_immutable'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(drop_old, make_old),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('ref', models.CharField(max_length=40, primary_key=True, serialize=False)),
                ('execution_ref', models.CharField(blank=True, default='', max_length=200)),
                ('capability', models.CharField(max_length=200)),
                ('workspace', models.CharField(blank=True, default='', max_length=200)),
                ('condition', models.CharField(max_length=1000)),
                ('sentence', models.TextField()),
                ('rule', models.CharField(max_length=100)),
                ('rule_version', models.PositiveIntegerField()),
                ('approvers', models.CharField(blank=True, default='', max_length=150)),
                ('votes_needed', models.PositiveIntegerField()),
                ('max_uses', models.PositiveIntegerField()),
                ('uses', models.PositiveIntegerField(default=0)),
                ('seconds', models.PositiveIntegerField()),
                ('created_at', models.DateTimeField()),
                ('lives_until', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('end_reason', models.TextField(blank=True, default='')),
            ],
        ),
        migrations.CreateModel(
            name='GrantVote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('method', models.CharField(choices=[('session', 'Session'), ('token', 'Token'), ('password', 'Password')], max_length=10)),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('asked', 'Asked'), ('half', 'Half'), ('late', 'Late')], max_length=10)),
                ('created_at', models.DateTimeField()),
                ('taken_at', models.DateTimeField(blank=True, null=True)),
                ('sent_at', models.DateTimeField(blank=True, null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('decision', models.CharField(max_length=10)),
                ('method', models.CharField(choices=[('session', 'Session'), ('token', 'Token'), ('password', 'Password')], max_length=10)),
                ('reason', models.TextField(blank=True, default='')),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='approval',
            name='approvers',
            field=models.CharField(blank=True, default='', max_length=150),
        ),
        migrations.AddField(
            model_name='approval',
            name='grant',
            field=models.CharField(blank=True, default='', max_length=40),
        ),
        migrations.AddField(
            model_name='approval',
            name='snapshot',
            field=models.TextField(default='{}'),
        ),
        migrations.AddField(
            model_name='approval',
            name='votes_needed',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='approval_required',
            field=models.BooleanField(default=False, help_text='a person is asked whatever a reviewer says'),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='approvers',
            field=models.CharField(blank=True, default='', help_text='the group that may decide', max_length=150),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='caller_group',
            field=models.CharField(blank=True, default='', help_text='a group; blank = any caller', max_length=150),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='condition',
            field=models.CharField(blank=True, default='', help_text='CEL over input and target, such as target.path.startsWith("docs/")', max_length=1000),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='effects',
            field=models.CharField(blank=True, default='', help_text='such as write,process; blank = any', max_length=60),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='isolation',
            field=models.CharField(blank=True, default='', help_text='shared or per_execution', max_length=20),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='reviewer_may_allow',
            field=models.BooleanField(default=False, help_text="a reviewer's ALLOW spares the person"),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='risk',
            field=models.CharField(blank=True, choices=[('low', 'Low'), ('medium', 'Medium'), ('high', 'High'), ('critical', 'Critical')], default='', help_text="blank = the capability's", max_length=10),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='ttl_seconds',
            field=models.PositiveIntegerField(blank=True, help_text='how long a person may take: 60 to 604800; blank = the setting', null=True),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='votes',
            field=models.PositiveIntegerField(default=1, help_text='how many people must approve'),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='workspace',
            field=models.CharField(blank=True, default='', help_text='a name; blank = any, or none', max_length=80),
        ),
        migrations.AddField(
            model_name='policyrule',
            name='workspace_kind',
            field=models.CharField(blank=True, default='', help_text='such as directory', max_length=20),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(('votes_needed__gte', 1), ('votes_needed__lte', 10)), name='approval_votes'),
        ),
        migrations.AddConstraint(
            model_name='policyrule',
            constraint=models.CheckConstraint(condition=models.Q(('votes__gte', 1), ('votes__lte', 10)), name='rule_votes'),
        ),
        migrations.AddField(
            model_name='grant',
            name='caller',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='grant',
            name='ended_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='grant',
            name='source',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='grants', to='approvals.approval'),
        ),
        migrations.AddField(
            model_name='grantvote',
            name='grant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='votes', to='approvals.grant'),
        ),
        migrations.AddField(
            model_name='grantvote',
            name='person',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='notice',
            name='approval',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='approvals.approval'),
        ),
        migrations.AddField(
            model_name='vote',
            name='approval',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='votes', to='approvals.approval'),
        ),
        migrations.AddField(
            model_name='vote',
            name='person',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=models.Q(('ended_at', None)), fields=['caller', 'capability'], name='grant_standing'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('uses__lte', models.F('max_uses'))), name='grant_uses'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('max_uses__gte', 1), ('max_uses__lte', 50)), name='grant_max_uses'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('ended_at', None), models.Q(('end_reason', ''), _negated=True), _connector='OR'), name='grant_ended_with_reason'),
        ),
        migrations.AddConstraint(
            model_name='grantvote',
            constraint=models.UniqueConstraint(fields=('grant', 'person'), name='grant_vote_once'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('sent_at', None)), fields=['created_at'], name='notice_due'),
        ),
        migrations.AddConstraint(
            model_name='notice',
            constraint=models.UniqueConstraint(fields=('approval', 'kind'), name='notice_once'),
        ),
        migrations.AddConstraint(
            model_name='vote',
            constraint=models.UniqueConstraint(fields=('approval', 'person'), name='vote_once'),
        ),
        migrations.RunPython(make_new, drop_new),
    ]
