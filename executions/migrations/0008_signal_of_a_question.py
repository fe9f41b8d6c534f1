"""A signal more: a person asks the agent something about its request, and which question it is."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('executions', '0007_workspace_isolation_and_hosts'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='signal',
            name='signal_kind',
        ),
        migrations.AddField(
            model_name='signal',
            name='question',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AlterField(
            model_name='signal',
            name='kind',
            field=models.CharField(choices=[('EXECUTION_FINISHED', 'Execution Finished'), ('APPROVAL_REQUESTED', 'Approval Requested'), ('APPROVAL_QUESTION', 'Approval Question'), ('APPROVAL_DECIDED', 'Approval Decided'), ('RECOVERY_RESUME', 'Recovery Resume'), ('UNKNOWN_REALITY', 'Unknown Reality')], max_length=20),
        ),
        migrations.AddConstraint(
            model_name='signal',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['EXECUTION_FINISHED', 'APPROVAL_REQUESTED', 'APPROVAL_QUESTION', 'APPROVAL_DECIDED', 'RECOVERY_RESUME', 'UNKNOWN_REALITY'])), name='signal_kind'),
        ),
    ]
