"""What observers were told is forgotten once it is old and has reached them; nothing else is."""

import json
from datetime import timedelta
from io import StringIO
from ipaddress import ip_network

import pytest
from django.core.management import CommandError, call_command
from knox.models import AuthToken

from executions.outbox.models import Delivery, Signal, Webhook
from executions.services import retention
from executions.services.acknowledge import Acknowledge, acknowledge
from executions.services.cancel import Cancel, cancel
from executions.services.webhooks.deliver import deliver, take
from executions.services.webhooks.subscribe import Subscribe, subscribe
from forge_project.kernel import clock, failpoints
from forge_project.ledger import checkpoints
from forge_project.ledger.models import Event
from forge_project.ledger.verify import verify
from tests import rebuilt
from tests.db.executions import send
from tests.receiver import receiver

pytestmark = pytest.mark.django_db(transaction=True)
LATER = timedelta(days=31)


@pytest.fixture(autouse=True)
def _at_home(settings, tmp_path):
    settings.FORGE_VAR = tmp_path
    settings.FORGE_NETWORK_ALLOW = [ip_network("127.0.0.0/8")]
    settings.FORGE_WEBHOOK_HTTP = True


@pytest.fixture
def told(caller):
    """`told(key, arrives, acknowledged)`: an execution's end, on its way to one webhook."""

    def make(key="k", arrives=True, acknowledged=True):
        with receiver(200 if arrives else 500) as server:
            subscribe(Subscribe(owner=caller, url=server.url))
            ref = send(caller, key, source="return 1").ref
            cancel(Cancel(execution_ref=ref, actor="user:robo", reason="no"))
            assert deliver(take()) is arrives
        Webhook.objects.update(deleted_at=clock.now())
        signal = Signal.objects.get(execution=ref)
        if acknowledged:
            assert acknowledge(Acknowledge(signal_ref=signal.pk, actor=caller))
        return signal.pk

    return make


def forget(after=LATER):
    done = retention.forget(retention.Forget(before=clock.now() + after, actor="os:olga", reason="retention"))
    return done.deliveries, done.signals


def facts():
    rows = Event.objects.filter(invocation_id="forge:governance", kind__endswith=".purged").order_by("seq")
    return [json.loads(row.payload)["actions"]["forge"] for row in rows]


def test_what_arrived_and_was_acknowledged_goes_with_a_fact_for_each(told):
    told()
    assert forget() == (1, 1)
    assert (Delivery.objects.count(), Signal.objects.count()) == (0, 0)
    assert [(one["fact"], one["rows"], one["actor"], one["reason"]) for one in facts()] == [
        ("deliveries.purged", 1, "os:olga", "retention"),
        ("signals.purged", 1, "os:olga", "retention"),
    ]
    assert (verify().findings, rebuilt.found()) == ([], [])
    assert (forget(), len(facts())) == ((0, 0), 2)  # nothing done, nothing said


@pytest.mark.parametrize(
    ("arrives", "acknowledged", "gone"), [(True, False, (1, 0)), (False, True, (0, 0)), (False, False, (0, 0))]
)
def test_what_somebody_still_has_to_see_stays(told, arrives, acknowledged, gone):
    told(arrives=arrives, acknowledged=acknowledged)
    assert forget() == gone
    assert Signal.objects.count() == 1


def test_a_dead_delivery_stays_with_its_signal(told):
    told(arrives=False)
    Delivery.objects.update(state="dead", ended_at=clock.now())
    assert forget() == (0, 0)


def test_what_is_young_stays(told):
    told()
    assert forget(timedelta(0) - timedelta(seconds=60)) == (0, 0)


def test_a_crash_in_the_middle_leaves_rows_and_facts_alike(told):
    told()
    with failpoints.crash_at("outbox.purge"):
        forget()
    assert (Delivery.objects.count(), facts()) == (1, [])
    assert forget() == (1, 1)


def test_more_than_one_transaction_holds(told, monkeypatch):
    for key in ("a", "b", "c"):
        told(key)
    monkeypatch.setattr(retention, "_AT_ONCE", 2)
    assert forget() == (3, 3)
    assert [one["rows"] for one in facts()] == [2, 1, 2, 1]


def command(*args):
    out = StringIO()
    call_command("purge", *args, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_takes_chains_and_signals_each_by_its_own_days(told, settings):
    ref = Signal.objects.get(pk=told()).execution_id
    checkpoints.take()
    none = {"invocations": 0, "deliveries": 0, "signals": 0, "tokens": 0}
    assert command() == none
    both = {"invocations": 0, "deliveries": 1, "signals": 1, "tokens": 0}
    assert command("--signal-days", "0", "--dry-run") == both
    assert Delivery.objects.count() == 1
    assert command("--signal-days", "0") == both
    assert command("--days", "0") == none | {"invocations": 1}
    assert not Event.objects.filter(invocation_id=ref).exists()
    assert (verify().findings, rebuilt.found()) == ([], [])  # a row whose events retention took is no difference


def test_a_negative_number_is_refused():
    with pytest.raises(CommandError) as refused:
        command("--signal-days", "-1")
    assert refused.value.returncode == 2


def test_the_command_ends_tokens_that_have_expired(caller):
    AuthToken.objects.create(caller, expiry=timedelta(seconds=-5))
    kept = AuthToken.objects.create(caller, expiry=timedelta(days=1))[0]
    out = StringIO()
    call_command("purge", "--json", stdout=out)
    assert json.loads(out.getvalue())["tokens"] == 1
    assert list(AuthToken.objects.values_list("pk", flat=True)) == [kept.pk]
