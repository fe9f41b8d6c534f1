"""Agents' accounts, the policy's versioned rules, and what people were asked and answered."""

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from approvals.states import LIVE, Decision, Effect, Method, Risk, State

ID = 200  # as in the ledger
DIGEST = 120  # jcs1:hmac-sha256:<8>:<64>, with room


class Agent(models.Model):
    """A user that is a program: it has one human owner, and neither of them approves its calls."""

    user = models.OneToOneField(User, models.CASCADE, related_name="agent")
    owner = models.ForeignKey(User, models.PROTECT, related_name="owned_agents")
    acts_for = models.ManyToManyField(User, related_name="acted_for_by", blank=True)

    def __str__(self) -> str:
        return self.user.username


class PolicyRule(models.Model):
    """One version of one rule; never edited: a change retires it and makes the next version."""

    name = models.CharField(max_length=100)
    version = models.PositiveIntegerField()
    priority = models.IntegerField(help_text="lower is asked first")
    caller = models.CharField(max_length=150, blank=True, default="", help_text="a user name; blank = any caller")
    capability = models.CharField(max_length=ID, help_text="a glob such as git.*; upper and lower case differ")
    decision = models.CharField(max_length=6, choices=Decision)
    reason = models.CharField(max_length=500, blank=True, default="", help_text="shown to whom it stops")
    author = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True, blank=True)
    retired_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(retired_at=None, retired_by=None) | Q(retired_at__isnull=False, retired_by__isnull=False),
                name="rule_retired_by_someone",
            ),
            models.UniqueConstraint(fields=["name", "version"], name="rule_version_once"),
            models.UniqueConstraint(fields=["name"], condition=Q(retired_at=None), name="rule_one_live_version"),
            models.CheckConstraint(condition=Q(decision__in=Decision.values), name="rule_decision"),
            models.CheckConstraint(condition=~Q(capability=""), name="rule_capability"),
        ]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class Approval(models.Model):
    """One question to a person about one call, and all its answer is tied to. Moved by services only."""

    ref = models.CharField(primary_key=True, max_length=40)
    invocation_id = models.CharField(max_length=ID)  # whose lock guards this row
    execution_ref = models.CharField(max_length=ID)
    call_id = models.CharField(max_length=ID)
    n = models.PositiveIntegerField()
    caller = models.ForeignKey(User, models.PROTECT, related_name="+")
    caller_ref = models.CharField(max_length=ID)
    on_behalf_of = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    workspace = models.CharField(max_length=ID, blank=True, default="")
    capability = models.CharField(max_length=ID)
    target = models.TextField(blank=True, default="")
    risk = models.CharField(max_length=10, choices=Risk)
    effect = models.CharField(max_length=10, choices=Effect)
    network = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    version = models.PositiveIntegerField(default=1)
    rule = models.CharField(max_length=100)
    rule_version = models.PositiveIntegerField()
    input_fingerprint = models.CharField(max_length=DIGEST)
    scope_fingerprint = models.CharField(max_length=DIGEST)
    precondition_fingerprint = models.CharField(max_length=DIGEST)
    fingerprint = models.CharField(max_length=DIGEST)  # over all that is shown: what is approved is what was seen
    sentence = models.TextField()
    preview = models.TextField()  # JSON
    warnings = models.TextField(default="[]")  # JSON: texts
    reversible = models.BooleanField()
    purpose = models.TextField(blank=True, default="")  # the agent's words, outside the fingerprint
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # while pending: to be decided by; once approved: to be used by
    decided_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(null=True, blank=True)
    authentication = models.CharField(max_length=10, blank=True, default="", choices=Method)
    revoked_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    ended_at = models.DateTimeField(null=True, blank=True)  # revoked or expired
    reason = models.TextField(blank=True, default="")  # of the last change; the ledger has every one
    consumed_at = models.DateTimeField(null=True, blank=True)
    supersedes = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        permissions = [("decide_approval", "Can decide approval")]
        indexes = [
            models.Index(fields=["state", "expires_at"], name="approval_due"),
            models.Index(fields=["caller", "state"], name="approval_of_caller"),
            models.Index(fields=["execution_ref"], name="approval_of_execution"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["execution_ref", "call_id"],
                condition=Q(state__in=sorted(LIVE)),
                name="approval_one_live_a_call",
            ),
            models.CheckConstraint(condition=Q(state__in=State.values), name="approval_state"),
            models.CheckConstraint(condition=Q(risk__in=Risk.values), name="approval_risk"),
            models.CheckConstraint(condition=Q(effect__in=Effect.values), name="approval_effect"),
            models.CheckConstraint(condition=Q(authentication__in=["", *Method.values]), name="approval_method"),
            models.CheckConstraint(condition=Q(version__gte=1, rule_version__gte=1, n__gte=1), name="approval_counts"),
            models.CheckConstraint(
                condition=Q(state="pending", decided_by=None, decided_at=None, authentication="")
                | Q(state__in=["approved", "denied", "consumed"], decided_by__isnull=False, decided_at__isnull=False)
                & ~Q(authentication="")
                | Q(state__in=["revoked", "expired"]),
                name="approval_decided_by_a_person",
            ),
            models.CheckConstraint(condition=~Q(state="denied", reason=""), name="approval_denied_with_reason"),
            models.CheckConstraint(
                condition=Q(state="consumed", consumed_at__isnull=False)
                | ~Q(state="consumed") & Q(consumed_at__isnull=True),
                name="approval_consumed_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["revoked", "expired"], ended_at__isnull=False)
                | ~Q(state__in=["revoked", "expired"]) & Q(ended_at__isnull=True, revoked_by__isnull=True),
                name="approval_ended",
            ),
        ]

    def __str__(self) -> str:
        return self.ref
