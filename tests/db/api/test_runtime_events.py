"""POST and GET sessions/<sid>/runs/<rid>/events/, events:batch/, partials/ and sessions/<sid>/events/"""

import time

import pytest

from forge_project.ledger.models import Chunk, Event, Stream
from tests.db.api import BASE, WRITE, get, post, refused
from tests.db.api.test_events import tampered

pytestmark = pytest.mark.django_db(transaction=True)
RUN = "/sessions/s/runs/r"
TEXT = {"kind": "text", "text": "hello"}


def event(**more):
    return {"invocation_id": "i", "turn_id": "t", "role": "model", "author": "agent", "content": TEXT} | more


def send(api, path="events", run=RUN, **body):
    return api.post(f"{BASE}{run}/{path}/", body, format="json")


def read(api, path=f"{RUN}/events/", count=None, **query):
    """The page; on PostgreSQL it waits for older transactions anywhere in the server, so it is asked until `count`."""
    end = time.monotonic() + 20
    while True:
        told = get(api, path, **query).json()
        if count is None or len(told["results"]) >= count or time.monotonic() > end:
            return told
        time.sleep(0.05)


def test_an_event_is_appended_once(api):
    first = send(api, **event(event_id="e1", ts=7))
    assert (first.status_code, first.json()) == (201, {"event_id": "e1", "seq": 1, "created": True})
    again = send(api, **event(event_id="e1", ts=7))
    assert (again.status_code, again.json()) == (200, {"event_id": "e1", "seq": 1, "created": False})
    facts = refused(send(api, **event(event_id="e1", ts=8)), 409, "EVENT_CONFLICT")
    assert facts["event_id"] == "e1"


def test_what_is_read_is_what_was_written(api):
    send(api, **event(event_id="e1", ts=7))
    (told,) = read(api, count=1)["results"]
    assert told["payload"] == event(event_id="e1", ts=7) | {"session_id": "s", "run_id": "r", "partial": False}
    assert (told["source"], told["verified"], told["kind"]) == ("agent", True, "text")


def test_refusals_have_their_code_and_place(api):
    assert refused(send(api, **event(mood=1)), 400, "INVALID_REQUEST")["path"] == "/mood"
    refused(send(api, **event(actions={"forge": {"fact": "x"}})), 403, "RESERVED_FACT")
    refused(send(api, **event(invocation_id="forge:governance")), 403, "RESERVED_INVOCATION")
    refused(send(api, **event(session_id="other")), 409, "INVOCATION_IDENTITY_CONFLICT")
    refused(api.post(f"{BASE}{RUN}/events/", [1], format="json"), 400, "INVALID_REQUEST")
    refused(send(api, **event(content=TEXT | {"text": "x" * 1_100_000})), 413, "BYTES_LIMIT")
    assert not Event.objects.exists()


def test_an_executions_own_chain_takes_nothing_from_its_agent(api, workspace):
    ref = post(api, WRITE).json()["execution_ref"]
    run = f"/sessions/{ref}/runs/{ref}"
    refused(send(api, run=run, **event(invocation_id=ref)), 403, "RESERVED_INVOCATION")
    assert {one["source"] for one in read(api, f"{run}/events/", 1)["results"]} == {"forge"}


def test_a_batch_is_all_or_nothing(api):
    good = [event(event_id=f"e{n}") for n in range(3)]
    facts = refused(send(api, "events:batch", events=[*good, event(event_id="e0", ts=1)]), 409, "EVENT_CONFLICT")
    assert facts["path"].startswith("/events/")
    assert not Event.objects.exists()
    told = send(api, "events:batch", events=[*good, event(invocation_id="j")]).json()
    assert [one["created"] for one in told["results"]] == [True] * 4
    refused(send(api, "events:batch", events=[]), 400, "INVALID_REQUEST")
    refused(send(api, "events:batch", events=[event()] * 1001), 400, "INVALID_REQUEST")


def test_a_source_is_imported_once(api):
    body = {"events": [event(event_id="e1", ts=1)], "source": {"path": "a.jsonl", "fingerprint": "sha256:00"}}
    assert send(api, "events:batch", **body).json()["already_imported"] is False
    assert send(api, "events:batch", **body).json() == {"already_imported": True, "results": []}
    assert Event.objects.get().source == "import"


def test_others_see_nothing_and_may_not_write(api, other):
    send(api, **event(event_id="e1"))
    read(api, count=1)
    assert read(other)["results"] == []
    refused(send(other, **event()), 409, "INVOCATION_IDENTITY_CONFLICT")
    assert send(other, **event(invocation_id="j", event_id="e1")).status_code == 201


def test_a_session_is_read_in_pages_over_its_runs(api):
    for n in range(7):
        send(api, run=f"/sessions/s/runs/r{n % 2}", **event(invocation_id=f"i{n % 2}", event_id=f"e{n}"))
    read(api, "/sessions/s/events/", 7)
    first = read(api, "/sessions/s/events/", limit=3)
    second = api.get(first["next"]).json()
    third = api.get(second["next"]).json()
    seen = [one["event_id"] for page in (first, second, third) for one in page["results"]]
    assert (seen, third["next"]) == ([f"e{n}" for n in range(7)], None)
    assert [one["event_id"] for one in read(api, "/sessions/s/runs/r1/events/")["results"]] == ["e1", "e3", "e5"]
    after = first["results"][1]["position"]
    assert read(api, "/sessions/s/events/", cursor=after)["results"][0]["event_id"] == "e2"


@pytest.mark.parametrize("query", ["cursor=x", "cursor=WzFd", "q=1", "limit=0", "invocation_id=%00"])
def test_a_bad_query_is_400(api, query):
    refused(api.get(f"{BASE}{RUN}/events/?{query}"), 400, "INVALID_REQUEST")


def test_a_changed_row_is_corrupt_and_stops_nobody_else(api):
    for name in ("i", "j"):
        send(api, **event(invocation_id=name, event_id=name))
    read(api, count=2)
    with tampered("i", 1, payload='{"event_id": "i"}'):
        both = read(api)["results"]
        assert [(one["event_id"], one["verified"], one.get("code")) for one in both] == [
            ("i", False, "LEDGER_CORRUPT"), ("j", True, None),
        ]  # fmt: skip
        facts = refused(get(api, f"{RUN}/events/", invocation_id="i"), 409, "LEDGER_CORRUPT")
        assert facts == {"invocation": "i", "seq": 1}
        assert len(read(api, invocation_id="j")["results"]) == 1
        assert send(api, **event(invocation_id="j")).status_code == 201


def chunk(api, *numbered, stream="p1", **more):
    chunks = [{"chunk_no": no, "text": text} for no, text in numbered]
    body = {"invocation_id": "i", "turn_id": "t", "stream": {"kind": "text", "id": stream}, "chunks": chunks}
    return send(api, "partials", **(body | more))


def test_live_text_grows_by_chunks_and_is_shown_at_its_anchor(api):
    chunk(api, (1, "un"), stream="p0")
    send(api, **event(event_id="e1"))
    assert chunk(api, (1, "Hel"), (2, "lo")).json() == {"chunks": 2, "ignored": False}
    assert chunk(api, (2, "lo"), (3, " wörld \0"[:-1])).json()["chunks"] == 3  # a retry is no second chunk
    send(api, **event(event_id="e2"))
    told = read(api, count=4)["results"]
    texts = [one["payload"]["content"]["text"] for one in told]
    assert [one["kind"] for one in told] == ["partial", "text", "partial", "text"]
    assert texts == ["un", "hello", "Hello wörld ", "hello"]


def test_a_gap_or_another_text_is_refused(api):
    chunk(api, (1, "a"))
    assert refused(chunk(api, (3, "c")), 409, "STATE_CONFLICT") == {"chunk_no": 3, "expected": 2}
    refused(chunk(api, (1, "b")), 409, "EVENT_CONFLICT")
    refused(chunk(api, (0, "b")), 400, "INVALID_REQUEST")
    assert Chunk.objects.count() == 1


def test_the_final_event_ends_its_stream(api):
    chunk(api, (1, "Hel"))
    send(api, **event(event_id="final", refs={"provider_event_id": "p1"}))
    assert not Chunk.objects.exists()
    assert chunk(api, (2, "lo")).json()["ignored"] is True
    send(api, **event(refs={"provider_event_id": "p2"}))
    assert chunk(api, (1, "late"), stream="p2").json()["ignored"] is True
    assert [one["kind"] for one in read(api, count=2)["results"]] == ["text", "text"]


def test_sealing_leaves_nothing_live(api):
    chunk(api, (1, "Hel"))
    send(api, **event(status="completed"))
    assert (Chunk.objects.count(), Stream.objects.count()) == (0, 0)
    refused(chunk(api, (2, "lo")), 409, "INVOCATION_SEALED")


def test_an_unreadable_stream_is_left_out(api):
    chunk(api, (1, "a"))
    chunk(api, (1, "b"), stream="p2")
    Chunk.objects.filter(text='"a"').update(text="not JSON")
    assert [one["payload"]["content"]["text"] for one in read(api)["results"]] == ["b"]
