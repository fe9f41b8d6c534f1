"""Tells people that something waits: by e-mail, with a link and nothing an agent wrote."""

import logging
import smtplib
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage, get_connection
from django.db.models import Q
from django.urls import reverse

from approvals import eligibility, ports
from approvals.models import Approval, Notice
from approvals.states import NoticeKind, State
from forge_project.kernel import clock
from forge_project.ledger.writing import Page, writing

log = logging.getLogger("forge.notices")
TAKEN_SECONDS = 120  # how long one that sends may take before another tries
_REMINDERS = ((NoticeKind.LATE, 0.9), (NoticeKind.HALF, 0.5))
_SUBJECTS = {
    NoticeKind.ASKED: "A request waits for your decision",
    NoticeKind.HALF: "Half the time to decide a request is over",
    NoticeKind.LATE: "A request will soon be refused because nobody decided it",
}


def announce(page: Page, row: Approval, kind: NoticeKind) -> None:
    """Writes down that people must be told, once a kind, in the transaction of `page`."""
    _, created = Notice.objects.get_or_create(approval=row, kind=kind, defaults={"created_at": clock.now()})
    if created:
        ports.announced(page, row, kind.value)


def remind_due(limit: int = 100) -> int:
    """Announces what has waited for half of its time, and for nine tenths of it; how many it did."""
    waiting = Approval.objects.filter(state=State.PENDING, expires_at__gt=clock.now())
    done = 0
    for row in waiting.exclude(notices__kind=NoticeKind.LATE).order_by("expires_at")[:limit]:
        kind = _due(row)
        if kind is not None and not row.notices.filter(kind=kind).exists():
            with writing(row.invocation_id) as page:
                row.refresh_from_db()
                if row.state == State.PENDING:
                    announce(page, row, kind)
                    done += 1
    return done


def send_due(limit: int = 20) -> int:
    """Sends what was announced and not sent, outside any transaction; how many. The first failure ends the round."""
    if not settings.FORGE_EMAIL_FROM:
        return 0
    free = Q(taken_at=None) | Q(taken_at__lt=clock.now() - timedelta(seconds=TAKEN_SECONDS))
    sent = 0
    for notice in Notice.objects.filter(free, sent_at=None).order_by("created_at").select_related("approval")[:limit]:
        same = Notice.objects.filter(pk=notice.pk, sent_at=None, taken_at=notice.taken_at)
        if same.update(taken_at=clock.now()) != 1:
            continue  # another worker has it
        try:
            sent += _send(notice)
        except (OSError, smtplib.SMTPException) as fault:
            log.warning("no mail, will be tried again: %s", type(fault).__name__)
            break
        Notice.objects.filter(pk=notice.pk).update(sent_at=clock.now())
    return sent


def recipients(row: Approval) -> list[str]:
    """The addresses of all who may still vote on it."""
    voted = row.votes.values("person")
    people = User.objects.filter(is_active=True).exclude(email="").exclude(pk__in=voted).order_by("pk")
    return [person.email for person in people if eligibility.may_vote(person, row)]


def _due(row: Approval) -> NoticeKind | None:
    """The reminder whose moment has come, the later one if both have."""
    gone = (clock.now() - row.requested_at) / (row.expires_at - row.requested_at)
    return next((kind for kind, part in _REMINDERS if gone >= part), None)


def _send(notice: Notice) -> int:
    row = notice.approval
    if row.state != State.PENDING:
        return 0  # decided meanwhile: nobody need look
    to = recipients(row)
    if not to:
        return 0
    kind = NoticeKind(notice.kind)
    link = settings.FORGE_PUBLIC_URL.rstrip("/") + reverse("admin:approvals_approval_change", args=[row.pk])
    body = f"{_SUBJECTS[kind]}.\n\nRisk: {row.risk}\nDecide by: {clock.text(row.expires_at)}\n\n{link}\n"
    with get_connection() as connection:
        for address in to:  # one by one: nobody learns who else decides
            EmailMessage(_SUBJECTS[kind], body, settings.FORGE_EMAIL_FROM, [address], connection=connection).send()
    return 1
