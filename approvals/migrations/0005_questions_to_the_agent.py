"""What approvers ask the agent about its request; neither question nor answer is ever reworded."""

from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

first = import_module("approvals.migrations.0003_final_and_immutable")
ASKED = "approval_id n text asked_by_id asked_at".split()


def guard(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    condition = f"OLD.answer <> '' OR {first.differs(ASKED, vendor)}"
    head = "CREATE TRIGGER approvals_guard_question BEFORE UPDATE ON approvals_question FOR EACH ROW"
    said = "a question and its answer are not reworded"
    if vendor == "sqlite":
        schema_editor.execute(f"{head} WHEN ({condition}) BEGIN SELECT RAISE(ABORT, '{said}'); END", None)
    else:
        schema_editor.execute(f"{head} WHEN ({condition}) EXECUTE FUNCTION approvals_refuse('{said}')", None)


def unguard(apps, schema_editor):
    on = "" if schema_editor.connection.vendor == "sqlite" else " ON approvals_question"
    schema_editor.execute(f"DROP TRIGGER approvals_guard_question{on}", None)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0004_policy_rules_votes_grants'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Question',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('n', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('asked_at', models.DateTimeField()),
                ('answer', models.TextField(blank=True, default='')),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('approval', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='questions', to='approvals.approval')),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('approval', 'n'), name='question_once'), models.CheckConstraint(condition=models.Q(('n__gte', 1), ('n__lte', 5)), name='question_n'), models.CheckConstraint(condition=models.Q(models.Q(('answer', ''), ('answered_at', None)), models.Q(models.Q(('answer', ''), _negated=True), ('answered_at__isnull', False)), _connector='OR'), name='question_answered')],
            },
        ),
        migrations.RunPython(guard, unguard),
    ]
