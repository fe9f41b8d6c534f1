"""Agents' accounts, the policy's versioned rules, and what people were asked and answered."""

from django.contrib.auth.models import User
from django.db import models
from django.db.models import Q

from approvals.states import LIVE, Decision, Effect, Method, NoticeKind, Risk, State

ID = 200  # as in the ledger
MAX_CONDITION = 1000
MAX_VOTES = 10
MAX_USES = 50
MAX_QUESTIONS = 5  # to the agent, about one request
MAX_QUESTION = 500  # characters
MAX_ANSWER = 2000  # characters
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
    caller_group = models.CharField(max_length=150, blank=True, default="", help_text="a group; blank = any caller")
    workspace = models.CharField(max_length=80, blank=True, default="", help_text="a name; blank = any, or none")
    workspace_kind = models.CharField(max_length=20, blank=True, default="", help_text="such as directory")
    isolation = models.CharField(max_length=20, blank=True, default="", help_text="shared or per_execution")
    capability = models.CharField(max_length=ID, help_text="a glob such as git.*; upper and lower case differ")
    effects = models.CharField(max_length=60, blank=True, default="", help_text="such as write,process; blank = any")
    condition = models.CharField(
        max_length=MAX_CONDITION, blank=True, default="",
        help_text='CEL over input and target, such as target.path.startsWith("docs/")',
    )  # fmt: skip
    decision = models.CharField(max_length=6, choices=Decision)
    reason = models.CharField(max_length=500, blank=True, default="", help_text="shown to whom it stops")
    risk = models.CharField(max_length=10, blank=True, default="", choices=Risk, help_text="blank = the capability's")
    reviewer_may_allow = models.BooleanField(default=False, help_text="a reviewer's ALLOW spares the person")
    approval_required = models.BooleanField(default=False, help_text="a person is asked whatever a reviewer says")
    votes = models.PositiveIntegerField(default=1, help_text="how many people must approve")
    approvers = models.CharField(max_length=150, blank=True, default="", help_text="the group that may decide")
    ttl_seconds = models.PositiveIntegerField(
        null=True, blank=True, help_text="how long a person may take: 60 to 604800; blank = the setting"
    )
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
            models.CheckConstraint(condition=Q(votes__gte=1, votes__lte=MAX_VOTES), name="rule_votes"),
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
    snapshot = models.TextField(default="{}")  # JSON: the rule as it was when it decided
    votes_needed = models.PositiveIntegerField(default=1)
    approvers = models.CharField(max_length=150, blank=True, default="")  # the group that may decide; blank = any
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
    grant = models.CharField(max_length=40, blank=True, default="")  # the standing grant that answered it

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
                condition=Q(votes_needed__gte=1, votes_needed__lte=MAX_VOTES), name="approval_votes"
            ),
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


class Vote(models.Model):
    """One person's answer to one question; the last one needed decides it."""

    approval = models.ForeignKey(Approval, models.PROTECT, related_name="votes")
    person = models.ForeignKey(User, models.PROTECT, related_name="+")
    decision = models.CharField(max_length=10)
    method = models.CharField(max_length=10, choices=Method)
    reason = models.TextField(blank=True, default="")
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["approval", "person"], name="vote_once")]

    def __str__(self) -> str:
        return f"{self.approval_id} {self.person_id}"


class Question(models.Model):
    """What an approver asked the agent about its request, and its own words; redacted, outside the fingerprint."""

    approval = models.ForeignKey(Approval, models.PROTECT, related_name="questions")
    n = models.PositiveIntegerField()
    text = models.TextField()
    asked_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    asked_at = models.DateTimeField()
    answer = models.TextField(blank=True, default="")
    answered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["approval", "n"], name="question_once"),
            models.CheckConstraint(condition=Q(n__gte=1, n__lte=MAX_QUESTIONS), name="question_n"),
            models.CheckConstraint(
                condition=Q(answer="", answered_at=None) | ~Q(answer="") & Q(answered_at__isnull=False),
                name="question_answered",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.approval_id} {self.n}"


class Grant(models.Model):
    """A standing approval: such calls, so many times, until then. `uses` grows by conditional UPDATE only."""

    ref = models.CharField(primary_key=True, max_length=40)
    source = models.ForeignKey(Approval, models.PROTECT, related_name="grants")  # the question it was made at
    caller = models.ForeignKey(User, models.PROTECT, related_name="+")
    execution_ref = models.CharField(max_length=ID, blank=True, default="")  # blank = any execution of the caller
    capability = models.CharField(max_length=ID)
    workspace = models.CharField(max_length=ID, blank=True, default="")
    condition = models.CharField(max_length=MAX_CONDITION)
    sentence = models.TextField()
    rule = models.CharField(max_length=100)
    rule_version = models.PositiveIntegerField()
    approvers = models.CharField(max_length=150, blank=True, default="")
    votes_needed = models.PositiveIntegerField()
    max_uses = models.PositiveIntegerField()
    uses = models.PositiveIntegerField(default=0)
    seconds = models.PositiveIntegerField()  # how long it stands once all votes are there
    created_at = models.DateTimeField()
    lives_until = models.DateTimeField(null=True, blank=True)  # null: votes are missing
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.ForeignKey(User, models.PROTECT, null=True, blank=True, related_name="+")
    end_reason = models.TextField(blank=True, default="")

    class Meta:
        indexes = [models.Index(fields=["caller", "capability"], condition=Q(ended_at=None), name="grant_standing")]
        constraints = [
            models.CheckConstraint(condition=Q(uses__lte=models.F("max_uses")), name="grant_uses"),
            models.CheckConstraint(condition=Q(max_uses__gte=1, max_uses__lte=MAX_USES), name="grant_max_uses"),
            models.CheckConstraint(condition=Q(ended_at=None) | ~Q(end_reason=""), name="grant_ended_with_reason"),
        ]

    def __str__(self) -> str:
        return self.ref


class GrantVote(models.Model):
    """One person's yes to one grant."""

    grant = models.ForeignKey(Grant, models.PROTECT, related_name="votes")
    person = models.ForeignKey(User, models.PROTECT, related_name="+")
    method = models.CharField(max_length=10, choices=Method)
    at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grant", "person"], name="grant_vote_once")]

    def __str__(self) -> str:
        return f"{self.grant_id} {self.person_id}"


class Notice(models.Model):
    """That people must be told of a question: written with it, sent later, at least once."""

    approval = models.ForeignKey(Approval, models.CASCADE, related_name="notices")
    kind = models.CharField(max_length=10, choices=NoticeKind)
    created_at = models.DateTimeField()
    taken_at = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["approval", "kind"], name="notice_once")]
        indexes = [models.Index(fields=["created_at"], condition=Q(sent_at=None), name="notice_due")]

    def __str__(self) -> str:
        return f"{self.approval_id} {self.kind}"


class PasswordTries(models.Model):
    """Passwords tried lately for one name, whether or not it is an account; the row goes when none of them counts."""

    # A keyed digest: people type passwords into this field.
    name = models.CharField(primary_key=True, max_length=DIGEST)
    # [which, when, whether it was wrong], at most FORGE_PASSWORD_GUESSES of them.
    tries = models.JSONField(default=list)
    locked_until = models.DateTimeField(null=True, blank=True)
    counts_until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name
