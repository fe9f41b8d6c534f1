"""Webhooks: who may have them, what they are sent, how often, and when they are given up."""

import json
import threading
from contextlib import suppress
from datetime import timedelta
from ipaddress import ip_network

import pytest
from django.contrib.auth.models import User
from django.db import connections
from standardwebhooks import Webhook as Verifier

from executions.outbox.models import Delivery, Signal, Webhook
from executions.services.cancel import Cancel, cancel
from executions.services.webhooks.deliver import deliver, retry, take
from executions.services.webhooks.sender import Sender
from executions.services.webhooks.subscribe import Subscribe, subscribe
from forge_project.kernel import clock, failpoints
from forge_project.kernel.errors import TooMany
from forge_project.kernel.network import names
from forge_project.ledger.models import Event
from tests.db.api import client_of, get, post, refused
from tests.db.approvals import asked_about
from tests.db.executions import send
from tests.people import person
from tests.receiver import receiver, wait_for

pytestmark = pytest.mark.django_db(transaction=True)
HOOKS = "/webhooks/"


@pytest.fixture(autouse=True)
def _at_home(settings):
    settings.FORGE_NETWORK_ALLOW = [ip_network("127.0.0.0/8")]
    settings.FORGE_WEBHOOK_HTTP = True


def hook(client, url="https://example.com/hook?token=tttttttt", **body):
    return post(client, {"url": url} | body, path=HOOKS)


def finish(caller, key="k"):
    cancel(Cancel(execution_ref=send(caller, key=key, source="1").ref, actor="user:robo", reason="no"))


def due_now():
    Delivery.objects.filter(state="pending").update(due_at=clock.now())


def test_made_listed_read_deleted(api, caller):
    made = hook(api)
    told = made.json()
    assert made.status_code == 201
    secret = told.pop("secret")
    assert secret.startswith("whsec_")
    assert told["url"] == "https://example.com/hook?token=tttttttt"
    assert told["origin"] == "https://example.com"
    ref = told["webhook_ref"]
    assert get(api, HOOKS).json()["results"] == [told]
    assert get(api, f"{HOOKS}{ref}/").json() == told
    row = Webhook.objects.get()
    assert not any(word in bytes(row.sealed_target) for word in (b"tttttttt", secret.encode()))
    assert api.delete(f"/api/v1{HOOKS}{ref}/").status_code == 204
    assert get(api, HOOKS).json()["results"] == []
    refused(api.delete(f"/api/v1{HOOKS}{ref}/"), 404, "NOT_FOUND")
    facts = [json.loads(row.payload)["actions"]["forge"] for row in governance()]
    assert [fact["fact"] for fact in facts] == ["webhook.created", "webhook.deleted"]
    assert facts[0] | {"kinds": 0} == {
        "fact": "webhook.created", "ref": ref, "actor": "user:robo", "origin": "https://example.com", "kinds": 0,
        "everything": False,
    }  # fmt: skip


def governance():
    return Event.objects.filter(invocation_id="forge:governance", kind__startswith="webhook.").order_by("seq")


def test_three_and_no_more(api):
    refs = [hook(api).json()["webhook_ref"] for _ in range(3)]
    assert refused(hook(api), 429, "QUEUE_FULL")["limit"] == 3
    api.delete(f"/api/v1{HOOKS}{refs[0]}/")
    assert hook(api).status_code == 201


def test_a_race_does_not_pass_the_cap(caller):
    start, made = threading.Barrier(8), []

    def ask():
        start.wait()
        with suppress(TooMany):
            made.append(subscribe(Subscribe(owner=caller, url="https://example.com")))
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), Webhook.objects.count()) == (3, 3)


def test_not_anothers(api, other, operator):
    ref = hook(api).json()["webhook_ref"]
    assert get(other, HOOKS).json()["results"] == []
    refused(get(other, f"{HOOKS}{ref}/"), 404, "NOT_FOUND")
    refused(other.delete(f"/api/v1{HOOKS}{ref}/"), 404, "NOT_FOUND")
    seen = get(operator, HOOKS).json()["results"][0]
    assert (seen["webhook_ref"], "url" in seen, "secret" in seen) == (ref, False, False)
    assert operator.delete(f"/api/v1{HOOKS}{ref}/").status_code == 204


def test_who_may_not(api, ann):
    refused(hook(ann), 403, "SCOPE_DENIED")
    assert refused(hook(api, everything=True), 403, "SCOPE_DENIED")["rule"] == "webhook.everything"
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("body", "path"),
    [({}, "/url"), ({"url": 1}, "/url"), ({"url": ""}, "/url"), ({"url": "x"}, "/url"),
     ({"url": "https://10.0.0.1"}, "/url"),
     ({"url": "https://e.com", "kinds": []}, "/kinds"), ({"url": "https://e.com", "kinds": ["X"]}, "/kinds/0"),
     ({"url": "https://e.com", "secret": "x"}, "/secret"), ({"url": "https://e.com", "everything": 1}, "/everything")],
)  # fmt: skip
def test_bad_bodies(api, body, path):
    assert refused(post(api, body, path=HOOKS), 400, "INVALID_REQUEST")["path"] == path
    assert not Webhook.objects.exists()


def test_it_is_signed_and_says_what_the_signal_says(api, caller):
    with receiver() as server:
        secret = hook(api, f"{server.url}/in").json()["secret"]
        finish(caller)
        assert deliver(take())
        assert take() is None
    path, headers, body = server.got[0]
    told = Verifier(secret).verify(body, headers)
    signal = Signal.objects.get()
    assert (path, headers["webhook-id"], told["type"]) == ("/in", signal.ref, "EXECUTION_FINISHED")
    assert told["data"] == get(api, "/signals/").json()["results"][0]
    assert Delivery.objects.get().state == "delivered"


def test_only_the_kinds_and_executions_asked_for(api, other, operator, caller):
    hook(api, kinds=["UNKNOWN_REALITY"])
    hook(other)
    everybodys = hook(operator, everything=True).json()["webhook_ref"]
    hook(operator)
    finish(caller)
    assert list(Delivery.objects.values_list("webhook", flat=True)) == [everybodys]


def test_a_question_to_the_agent_is_sent_without_its_text(api, asked, approver):
    with receiver() as server:
        secret = hook(api, f"{server.url}/in", kinds=["APPROVAL_QUESTION"]).json()["secret"]
        for text in ("Why hunter2?", "And how?"):
            asked_about(asked, approver, text)
            assert deliver(take())
    assert [Verifier(secret).verify(body, headers)["data"]["question"] for _, headers, body in server.got] == [1, 2]
    assert "hunter2" not in str(server.got)
    refused(hook(api, kinds=["APPROVAL_QUESTIONS"]), 400, "INVALID_REQUEST")


def test_nothing_is_due_for_a_transition_that_was_rolled_back(api, caller):
    hook(api)
    ref = send(caller, source="1").ref
    with failpoints.crash_at("ledger.after_head"):
        cancel(Cancel(execution_ref=ref, actor="user:robo", reason="no"))
    assert (Signal.objects.count(), Delivery.objects.count()) == (0, 0)


@pytest.mark.parametrize("mode", [500, 404, "redirect", "hangup"])
def test_what_is_not_2xx_is_tried_again_later_and_in_the_end_dead(api, caller, settings, mode):
    settings.FORGE_WEBHOOK_ATTEMPTS = 3
    with receiver(mode) as server:
        hook(api, server.url)
        finish(caller)
        waits = []
        for _ in range(3):
            row = take()
            assert not deliver(row)
            assert take() is None
            waits.append((Delivery.objects.get().due_at - clock.now()).total_seconds())
            due_now()
        assert take() is None
    dead = Delivery.objects.get()
    assert (dead.state, dead.attempts, len(server.got), len(set(server.ids()))) == ("dead", 3, 3, 1)
    assert 4 < waits[0] < 6
    assert 8 < waits[1] < 12
    assert dead.error


def test_gone_is_dead_at_once(api, caller):
    with receiver(410) as server:
        hook(api, server.url)
        finish(caller)
        deliver(take())
    assert Delivery.objects.get().state == "dead"


def test_a_dead_one_is_retried_by_an_operator(api, caller, client, settings):
    settings.FORGE_WEBHOOK_ATTEMPTS = 1
    with receiver(lambda n: 500 if n == 1 else 200) as server:
        hook(api, server.url)
        finish(caller)
        deliver(take())
        row = Delivery.objects.get()
        act = {"action": "try_again", "_selected_action": [row.pk]}
        client.force_login(person("aude", "auditors"))
        client.post("/admin/executions/delivery/", act)
        assert Delivery.objects.get().state == "dead"
        client.force_login(person("oscar", "operators"))
        page = client.get("/admin/executions/delivery/?state__exact=dead").content.decode()
        assert "answered 500" in page
        client.post("/admin/executions/delivery/", act)
        client.post("/admin/executions/delivery/", act)  # not dead any more: a message, nothing else
        assert deliver(take())
    assert Delivery.objects.get().state == "delivered"
    assert [row.kind for row in governance()] == ["webhook.created", "webhook.retried"]


def test_killed_after_sending_it_is_sent_again(api, caller):
    with receiver() as server:
        hook(api, server.url)
        finish(caller)
        row = take()
        with failpoints.crash_at("deliver.sent"):
            deliver(row)
        assert take() is None  # leased
        due_now()
        assert deliver(take())
    assert len(server.got) == 2
    assert len(set(server.ids())) == 1


def test_a_late_outcome_of_an_earlier_try_changes_nothing(api, caller):
    with receiver() as server:
        hook(api, server.url)
        finish(caller)
        late = take()
        due_now()
        take()
        assert not deliver(late)
    assert (Delivery.objects.get().state, Delivery.objects.get().attempts) == ("pending", 2)


def test_a_name_that_turns_private_is_not_called(api, caller, settings, monkeypatch):
    with receiver() as server:
        monkeypatch.setattr(names, "addresses_of", lambda *_: ["10.0.0.7"])
        hook(api, "http://rebound.example/")
        finish(caller)
        assert not deliver(take())
    row = Delivery.objects.get()
    assert (row.state, row.error, server.got) == ("pending", "this address may not be connected to", [])


def test_nothing_is_sent_for_whom_may_not_any_more(api, operator, caller):
    with receiver() as server:
        hook(api, server.url)
        hook(operator, server.url, everything=True)
        finish(caller)
        User.objects.get(username="oscar").groups.clear()
        User.objects.filter(pk=caller.pk).update(is_active=False)
        assert not deliver(take())
        assert not deliver(take())
    assert server.got == []


def test_a_deleted_one_gets_nothing_more(api, caller):
    with receiver() as server:
        ref = hook(api, server.url).json()["webhook_ref"]
        finish(caller)
        api.delete(f"/api/v1{HOOKS}{ref}/")
        assert take() is None
        finish(caller, "k2")
        assert take() is None
    row = Delivery.objects.get()
    assert row.state == "dead"
    with pytest.raises(Exception, match="not dead, or its webhook was deleted"):
        retry(row.pk, caller)


def test_one_that_never_answers_holds_up_itself_alone(api, operator, caller, settings):
    settings.FORGE_WEBHOOK_SECONDS = 1
    with receiver("never") as stuck, receiver() as good:
        hook(api, stuck.url)
        hook(operator, good.url, everything=True)
        for key in "abcdef":
            finish(caller, key)
        sender = Sender()
        sender.start()
        wait_for(lambda: len(good.got) == 6)
        assert len(stuck.got) <= 2
        sender.stop()
    assert Delivery.objects.filter(state="delivered").count() == 6


def test_many_senders_send_each_once(api, caller):
    with receiver() as server:
        hook(api, server.url)
        for key in range(20):
            finish(caller, str(key))
        senders = [Sender() for _ in range(3)]
        for sender in senders:
            sender.start()
        wait_for(lambda: Delivery.objects.filter(state="delivered").count() == 20)
        for sender in senders:
            sender.stop()
    assert sorted(server.ids()) == sorted(Signal.objects.values_list("pk", flat=True))


def test_a_retry_waits_no_longer_than_six_hours():
    from executions.services.webhooks.deliver import _wait

    assert _wait(99) <= timedelta(hours=6.6)


def test_an_agent_in_the_operators_group_stays_an_agent(api, other, caller):
    from django.contrib.auth.models import Group

    hook(other)
    person("oscar2", "operators")
    caller.groups.set(Group.objects.filter(name="operators"))
    assert get(client_of(caller), HOOKS).json()["results"] == []
