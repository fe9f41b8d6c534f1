"""Makes a webhook, and ends one. Both are facts of forge:governance."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from uuid6 import uuid7

from approvals.eligibility import is_agent
from executions.outbox.models import Delivery, DeliveryState, SignalKind, Webhook
from executions.selectors import webhooks
from forge_project.kernel import actors, clock
from forge_project.kernel.errors import Denied, Missing, TooMany
from forge_project.kernel.network import urls
from forge_project.ledger.events import fact
from forge_project.ledger.governance import governing

MAX_EACH = 3
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Who wants which signals sent where; `everything`: everybody's, for operators."""

    owner: User
    url: str
    kinds: Sequence[str] = tuple(SignalKind.values)
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribed:
    """The webhook, and its secret: this once."""

    webhook: Webhook
    secret: str


def subscribe(asked: Subscribe) -> Subscribed:
    """The new webhook. Raises Invalid (the URL), Denied, TooMany."""
    _check(asked)
    target = urls.parse(asked.url, allowed=settings.FORGE_NETWORK_ALLOW, plain=settings.FORGE_WEBHOOK_HTTP)
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    row = Webhook(
        ref=f"hook_{uuid7().hex}",
        owner=asked.owner,
        origin=target.origin,
        sealed_target=settings.FORGE_SEALER.seal({"url": asked.url, "secret": secret}),
        kinds=sorted(set(asked.kinds)),
        everything=asked.everything,
        created_at=clock.now(),
    )
    with governing() as page:  # its lock makes two at once come one after the other: the cap holds
        if Webhook.objects.filter(owner=asked.owner, deleted_at=None).count() >= MAX_EACH:
            raise TooMany("an account has so many webhooks at most", limit=MAX_EACH, rule="webhook.cap", retry_after=60)
        row.save(force_insert=True)
        told = {"origin": row.origin, "kinds": row.kinds, "everything": row.everything}
        page.add(fact("webhook.created", ref=row.pk, actor=actors.of(asked.owner), **told))
    return Subscribed(webhook=row, secret=secret)


def unsubscribe(ref: str, actor: User) -> None:
    """Ends it; what was on its way is given up. Raises Missing where it is not there or not theirs."""
    with governing() as page:
        row = webhooks.visible_to(actor).filter(pk=ref).first()
        if row is None or Webhook.objects.filter(pk=ref, deleted_at=None).update(deleted_at=clock.now()) != 1:
            raise Missing("no such webhook", webhook=ref)
        given_up = {"state": DeliveryState.DEAD, "error": "the webhook was deleted", "ended_at": clock.now()}
        Delivery.objects.filter(webhook=ref, state=DeliveryState.PENDING).update(**given_up)
        page.add(fact("webhook.deleted", ref=ref, actor=actors.of(actor), owner=actors.of(row.owner)))


def _check(asked: Subscribe) -> None:
    agent = is_agent(asked.owner)
    operator = asked.owner.has_perm("executions.manage_webhook") and not agent
    if not agent and not operator:
        raise Denied("webhooks are for agents and operators", rule="webhook.owner")
    if asked.everything and not operator:
        raise Denied("everybody's signals are for operators", rule="webhook.everything", path="/everything")
