"""Sends one signal to one webhook: at least once, with exponential back-off, in the end dead until a person retries.

How far a delivery is is bookkeeping of the transport and no fact: the fact is the transition that the signal tells.
"""

import json
import random
from collections.abc import Collection
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import F
from standardwebhooks import Webhook as Signer

from approvals.eligibility import is_agent
from executions.outbox.models import Delivery, DeliveryState, Webhook
from executions.selectors import signals
from forge_project.kernel import actors, clock, failpoints
from forge_project.kernel.errors import Denied, Failed, Invalid, Missing
from forge_project.kernel.network.exchange import Exchange, exchange
from forge_project.kernel.network.urls import parse
from forge_project.ledger.events import fact
from forge_project.ledger.governance import governing

_MAX_WAIT_SECONDS = 6 * 3600
_GONE = 410  # Standard Webhooks: the subscriber wants no more


def take(busy: Collection[str] = ()) -> Delivery | None:
    """A delivery that is due, leased to us by its own `due_at`: if we die, it is due again then."""
    now = clock.now()
    rows = Delivery.objects.filter(state=DeliveryState.PENDING, due_at__lte=now).exclude(webhook__in=busy)
    for row in rows.select_related("webhook__owner", "signal__execution").order_by("due_at", "pk")[:8]:
        lease = now + timedelta(seconds=2 * settings.FORGE_WEBHOOK_SECONDS + 5)
        same = Delivery.objects.filter(pk=row.pk, state=DeliveryState.PENDING, due_at=row.due_at)
        if same.update(due_at=lease, attempts=F("attempts") + 1) == 1:
            row.due_at, row.attempts = lease, row.attempts + 1
            return row
    return None


def deliver(row: Delivery) -> bool:
    """One try at a taken delivery; whether it arrived."""
    answer, error = None, ""
    try:
        _check_owner(row.webhook)
        answer = exchange(_asked(row), settings.FORGE_NETWORK_ALLOW).status
        failpoints.reach("deliver.sent")
    except (Denied, Failed, Invalid) as refused:
        error = refused.message
    if answer is not None and 200 <= answer < 300:
        return _write(row, DeliveryState.DELIVERED, answer=answer, error="", ended_at=clock.now())
    error = error or f"answered {answer}"
    if row.attempts >= settings.FORGE_WEBHOOK_ATTEMPTS or answer == _GONE:
        _write(row, DeliveryState.DEAD, answer=answer, error=error, ended_at=clock.now())
    else:
        _write(row, DeliveryState.PENDING, answer=answer, error=error, due_at=clock.now() + _wait(row.attempts))
    return False


def retry(delivery_id: int, actor: User) -> None:
    """Tries a dead one anew, because a person says so. Raises Missing where it is not dead or its webhook is gone."""
    with governing() as page:
        rows = Delivery.objects.filter(pk=delivery_id, state=DeliveryState.DEAD, webhook__deleted_at=None)
        anew = {"state": DeliveryState.PENDING, "attempts": 0, "due_at": clock.now(), "ended_at": None}
        if rows.update(**anew) != 1:
            raise Missing("this delivery is not dead, or its webhook was deleted", delivery=delivery_id)
        row = Delivery.objects.get(pk=delivery_id)
        who = actors.of(actor)
        page.add(fact("webhook.retried", ref=row.webhook_id, signal=row.signal_id, actor=who))


def _write(row: Delivery, state: DeliveryState, **columns: object) -> bool:
    """The only writer of a try's outcome; False if another has taken the delivery over meanwhile."""
    same = Delivery.objects.filter(pk=row.pk, state=DeliveryState.PENDING, attempts=row.attempts)
    return same.update(state=state, **columns) == 1


def _check_owner(hook: Webhook) -> None:
    owner = User.objects.get(pk=hook.owner_id)  # not as it was when the delivery was taken
    if not owner.is_active:
        raise Denied("its owner is not active any more")
    if hook.everything and (not owner.has_perm("executions.manage_webhook") or is_agent(owner)):
        raise Denied("its owner may not see everybody's signals any more")


def _asked(row: Delivery) -> Exchange:
    kept = settings.FORGE_SEALER.open(bytes(row.webhook.sealed_target))
    told = signals.payload(row.signal)
    body = json.dumps({"type": row.signal.kind, "timestamp": told["created_at"], "data": told})
    now = clock.now()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Forge",
        "webhook-id": row.signal_id,  # the same for every try: receivers drop doubles by it
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Signer(kept["secret"]).sign(msg_id=row.signal_id, timestamp=now, data=body),
    }
    target = parse(kept["url"], allowed=settings.FORGE_NETWORK_ALLOW, plain=settings.FORGE_WEBHOOK_HTTP)
    seconds = settings.FORGE_WEBHOOK_SECONDS
    return Exchange(target=target, method="POST", headers=headers, body=body.encode(), seconds=seconds)


def _wait(attempts: int) -> timedelta:
    """Doubled each time, within a tenth at random, so that a subscriber that comes back is not met by all at once."""
    seconds = min(_MAX_WAIT_SECONDS, settings.FORGE_WEBHOOK_BACK_OFF * 2.0 ** (attempts - 1))
    return timedelta(seconds=seconds * random.uniform(0.9, 1.1))  # noqa: S311  # no secret
