"""Sinks: what they are sent, what becomes of it when they fail, and who is told."""

import json

import pytest

from forge_project.kernel.errors import NotReady
from forge_project.ledger import checkpoints, restoring, signing, sink, watch
from forge_project.ledger.events import fact
from forge_project.ledger.models import Checkpoint
from forge_project.ledger.sink import Signed
from forge_project.ledger.writing import writing
from tests.db.ledger import identity
from tests.webhook import Receiver

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def receiver(settings, tmp_path):
    settings.FORGE_VAR = tmp_path
    with Receiver().serving() as made:
        settings.FORGE_CHECKPOINT_SINK = made.url
        yield made


def write(name="a"):
    with writing(name, opening=identity(name)) as page:
        page.add(fact("step"))


def numbers(lines):
    return [json.loads(line["payload"])["checkpoint"] for line in lines]


def fails(why):
    with pytest.raises(NotReady, match=why) as refused:
        checkpoints.take()
    assert refused.value.facts == {"part": "sink"}


def test_a_webhook_gets_the_signed_line(receiver):
    write()
    checkpoints.take()
    (line,) = receiver.got
    assert line.keys() == {"payload", "signature", "key_id"}
    assert signing.holds(line["payload"], line["signature"], line["key_id"])
    assert receiver.headers[0]["Idempotency-Key"] == Signed(**line).digest
    assert (Checkpoint.objects.get().sent, watch.sink_fault()) == (True, "")


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (500, "the webhook answered 500"),
        (404, "the webhook answered 404"),
        (409, "the webhook has another checkpoint of this number"),
        (302, "the webhook answered 302"),
    ],
)
def test_what_it_does_not_take_is_kept_and_sent_in_order(receiver, status, why):
    receiver.status = status
    write()
    fails(why)
    write()
    fails(why)
    assert watch.sink_fault() == f"checkpoint 1 is not in the sink: {why}"
    assert len(receiver.headers) == 2  # the second one waits for the first; no redirect is followed
    receiver.status = 200
    assert checkpoints.take() == []
    assert numbers(receiver.got) == [1, 2]
    assert watch.sink_fault() == ""


def test_a_webhook_that_is_not_there_is_named_without_its_address(settings):
    write()
    settings.FORGE_CHECKPOINT_SINK = "http://127.0.0.1:1/token"
    fails("the webhook does not answer: no answer: the connection was refused")
    settings.FORGE_CHECKPOINT_SINK = "http://user:secret@127.0.0.1:1/token"
    fails("the webhook does not answer: not a URL that can be called")
    assert not [word for word in ("127.0.0.1", "secret", "token") if word in watch.sink_fault()]


def test_a_file_and_a_webhook_each_get_every_checkpoint_once(receiver, settings, tmp_path):
    path = tmp_path / "elsewhere" / "sink"
    settings.FORGE_CHECKPOINT_SINK = f"{path},{receiver.url}"
    receiver.status = 503
    write()
    fails("503")
    assert [line.body()["checkpoint"] for line in sink.read(path)] == [1]
    assert not restoring.behind()
    receiver.status = 200
    checkpoints.take()
    write()
    checkpoints.take()
    assert [line.body()["checkpoint"] for line in sink.read(path)] == numbers(receiver.got) == [1, 2]


@pytest.mark.django_db(transaction=True)  # readiness looks through connections of its own
def test_readiness_goes_on_and_tells(client, receiver, settings, tmp_path):
    settings.CELERY_BROKER_URL = "forge-file://localhost"
    folders = {"data_folder": str(tmp_path / "data"), "control_folder": str(tmp_path / "control")}
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = folders
    write()
    receiver.status = 500
    fails("500")
    told = client.get("/readyz")
    assert (told.status_code, told.json()["warnings"]) == (
        200,
        {"checkpoints": "checkpoint 1 is not in the sink: the webhook answered 500"},
    )
    settings.FORGE_CHECKPOINT_SINK = ""
    assert client.get("/readyz").json()["warnings"] == {}


def test_who_only_verifies_gets_the_public_half(settings):
    settings.FORGE_CHECKPOINT_KEY = "A" * 43 + "="
    env = signing.without_key({"FORGE_CHECKPOINT_KEY": settings.FORGE_CHECKPOINT_KEY, "HOME": "/"})
    assert env.keys() == {"HOME", "FORGE_CHECKPOINT_PUBLIC_KEYS"}
    signed = signing.signer().sign("said")
    settings.FORGE_CHECKPOINT_PUBLIC_KEYS = [env["FORGE_CHECKPOINT_PUBLIC_KEYS"]]
    key_id = signing.signer().key_id
    settings.FORGE_CHECKPOINT_KEY = ""
    assert signing.holds("said", signed, key_id)
