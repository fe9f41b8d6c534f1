"""`manage.py purge [--days N] [--signal-days N] [--reason TEXT] [--actor NAME] [--dry-run] [--json]`: retention."""

import json
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from knox.models import AuthToken
from tqdm import tqdm

from approvals.services.tokens import revoke_tokens
from executions.management.refusals import USAGE
from executions.services import retention
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import ForgeError
from forge_project.ledger import tombstones


class Command(BaseCommand):
    help = (
        "Removes the events of invocations sealed long ago and checkpointed (a signed tombstone stays for each), "
        "deliveries that arrived, signals acknowledged long ago and expired tokens."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--days", type=int, default=settings.FORGE_RETENTION_DAYS, help="sealed longer ago")
        told = "delivered or acknowledged longer ago"
        parser.add_argument("--signal-days", type=int, default=settings.FORGE_SIGNAL_DAYS, help=told)
        parser.add_argument("--reason", default="retention")
        parser.add_argument("--actor", default="", help="who is answerable; this account's name otherwise")
        parser.add_argument("--dry-run", action="store_true")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["days"] < 0 or options["signal_days"] < 0:
            raise CommandError("--days and --signal-days are 0 or more", returncode=USAGE)
        now, actor = clock.now(), options["actor"] or actors.shell()
        sealed = clock.text(now - timedelta(days=options["days"]))
        chains = tombstones.Purge(before=sealed, actor=actor, reason=options["reason"])
        ended = now - timedelta(days=options["signal_days"])
        outbox = retention.Forget(before=ended, actor=actor, reason=options["reason"])
        expired = AuthToken.objects.filter(expiry__lt=now)
        try:
            if options["dry_run"]:
                count, told, dead = sum(1 for _ in tombstones.due(chains)), retention.due(outbox), expired.count()
            else:
                with tqdm(unit="row", disable=None, file=sys.stderr, leave=False) as bar:
                    count = tombstones.purge(chains, progress=lambda _ref: bar.update())
                    told = retention.forget(outbox, progress=bar.update)
                    dead = len(revoke_tokens(expired, actor=actor))
        except ForgeError as error:
            raise CommandError(error.message, returncode=USAGE) from None
        counts = {"invocations": count, "deliveries": told.deliveries, "signals": told.signals, "tokens": dead}
        done = "would be removed" if options["dry_run"] else "removed"
        said = ", ".join(f"{number} {name}" for name, number in counts.items())
        self.stdout.write(json.dumps(counts) if options["json"] else f"{said} {done}")
