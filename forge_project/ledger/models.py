"""Invocations, their events, and what became of each tool operation."""

from django.db import models

ID = 200  # characters of any id in the ledger


class Invocation(models.Model):
    """One chain of events with one identity and one owner; its row is the lock of everything that hangs on it."""

    id = models.CharField(primary_key=True, max_length=ID)
    protocol = models.PositiveSmallIntegerField(default=1)
    session_id = models.CharField(max_length=ID)
    run_id = models.CharField(max_length=ID)
    turn_id = models.CharField(max_length=ID)
    owner = models.CharField(max_length=ID)
    head_seq = models.PositiveBigIntegerField(default=0)
    head_hash = models.CharField(max_length=64)
    sealed_at = models.CharField(max_length=27, blank=True, default="")
    opened_by = models.CharField(max_length=10, default="forge", help_text="forge: only Forge's own writers add to it")
    follows = models.CharField(max_length=ID, blank=True, default="", help_text="the sealed one it goes on from")
    successors = models.PositiveIntegerField(default=0, help_text="how many `<id>~<k>` follow it")
    checkpointed_seq = models.PositiveBigIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["owner", "session_id", "run_id"], name="invocation_by_session")]

    def __str__(self) -> str:
        return self.id

    @property
    def family(self) -> list[str]:
        """The ids of this invocation and, for the first of a family, of its successors, in order."""
        return [self.id, *(f"{self.id}~{k}" for k in range(1, self.successors + 1))]


class Event(models.Model):
    """One immutable fact: `payload` is its RFC 8785 text; the other columns are for finding it and for the chain."""

    id = models.BigAutoField(primary_key=True)
    invocation = models.ForeignKey(Invocation, models.PROTECT, related_name="events", db_index=False)
    seq = models.PositiveBigIntegerField()
    event_id = models.CharField(max_length=ID)
    owner = models.CharField(max_length=ID)
    kind = models.CharField(max_length=60)
    source = models.CharField(max_length=10)
    operation_id = models.CharField(max_length=60, blank=True, default="")
    payload = models.TextField()
    committed_at = models.CharField(max_length=27)
    prev_hash = models.CharField(max_length=64)
    hash = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["invocation", "seq"], name="event_seq_once"),
            models.UniqueConstraint(fields=["owner", "event_id"], name="event_id_once_per_owner"),
            models.CheckConstraint(condition=models.Q(source__in=["forge", "agent", "import"]), name="event_source"),
        ]

    def __str__(self) -> str:
        return f"{self.invocation_id} {self.seq} {self.kind}"


class OperationState(models.TextChoices):
    """Where one tool operation stands between its dispatch and its outcome."""

    REJECTED = "rejected"
    PREPARED = "prepared"
    OUTCOME_COMMITTED = "outcome_committed"
    RETRIED = "retried"
    RECOVERY_COMPLETED = "recovery_completed"
    RECOVERY_NOT_APPLIED = "recovery_not_applied"
    RECOVERY_PARKED = "recovery_parked"
    RESOLVED = "resolved"
    CALLED = "called"  # by an agent, outside Forge's boundary
    ANSWERED = "answered"


class Operation(models.Model):
    """The projection of one operation's events; its conditional UPDATE decides who may dispatch."""

    operation_id = models.CharField(primary_key=True, max_length=60)
    invocation = models.ForeignKey(Invocation, models.PROTECT, related_name="operations", db_index=False)
    call_id = models.CharField(max_length=ID)
    tool = models.CharField(max_length=ID)
    args_digest = models.CharField(max_length=120)
    recovery_mode = models.CharField(max_length=20)
    attempt = models.PositiveIntegerField()
    state = models.CharField(max_length=24, choices=OperationState)
    version = models.PositiveIntegerField(default=1)
    external_handle = models.CharField(max_length=ID, blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["invocation", "call_id"], name="operation_once_per_call"),
            models.CheckConstraint(condition=models.Q(state__in=OperationState.values), name="operation_state"),
        ]

    def __str__(self) -> str:
        return self.operation_id


class Stream(models.Model):
    """Live text before its final event: what comes in chunks, and after which event it is shown."""

    key = models.CharField(primary_key=True, max_length=64)
    invocation = models.ForeignKey(Invocation, models.PROTECT, related_name="streams")
    payload = models.TextField(help_text="the event so far, without its text")
    anchor = models.CharField(max_length=ID, blank=True, default="", help_text="the last event when it began")
    chunks = models.PositiveIntegerField(default=0)
    ended = models.BooleanField(default=False, help_text="its final event is stored; chunks are ignored")

    def __str__(self) -> str:
        return self.key


class Chunk(models.Model):
    """A piece of a stream; never rewritten, deleted with its stream."""

    id = models.BigAutoField(primary_key=True)
    stream = models.ForeignKey(Stream, models.CASCADE, related_name="pieces", db_index=False)
    chunk_no = models.PositiveIntegerField()
    text = models.TextField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["stream", "chunk_no"], name="chunk_once")]

    def __str__(self) -> str:
        return f"{self.stream_id} {self.chunk_no}"


class Import(models.Model):
    """One source of imported events, by the digest of its bytes, and how far it got."""

    id = models.BigAutoField(primary_key=True)
    owner = models.CharField(max_length=ID)
    fingerprint = models.CharField(max_length=ID)
    path = models.TextField()
    items = models.PositiveBigIntegerField(default=0, help_text="items that are in")
    position = models.PositiveBigIntegerField(default=0, help_text="bytes of the file that are in")
    done = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "fingerprint"], name="import_once")]

    def __str__(self) -> str:
        return self.path


class Checkpoint(models.Model):
    """A signed statement of all heads that moved since the one before; `payload` is exactly what was signed."""

    number = models.PositiveBigIntegerField(primary_key=True)
    payload = models.TextField()
    digest = models.CharField(max_length=64)
    signature = models.CharField(max_length=128)
    key_id = models.CharField(max_length=16)
    sent = models.BooleanField(default=False, help_text="it is in the sink")
    fault = models.CharField(max_length=200, blank=True, default="", help_text="why it is not in the sink yet")

    class Meta:
        indexes = [models.Index(fields=["number"], condition=models.Q(sent=False), name="checkpoint_unsent")]

    def __str__(self) -> str:
        return str(self.number)


class Tombstone(models.Model):
    """Leave for one invocation's events to be deleted; verify demands a signature that it then accepts."""

    invocation_id = models.CharField(primary_key=True, max_length=ID)
    statement = models.TextField(blank=True, default="", help_text="what was removed, exactly as signed")
    signature = models.TextField(blank=True, default="")
    key_id = models.CharField(max_length=16, blank=True, default="")

    def __str__(self) -> str:
        return self.invocation_id
