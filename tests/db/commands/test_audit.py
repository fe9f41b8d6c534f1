"""`audit REF`: the whole story, and only what may be shown."""

import json

import pytest

from approvals.models import Approval
from forge_project.ledger.models import Event
from tests.db.commands import run
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyzA"


@pytest.fixture
def written(caller, workspace, folder, runtime, approver, settings):
    settings.FORGE_LINGER_MS = 0
    body = {"path": "a.txt", "content": f"token {SECRET}"}
    sent = send(caller, capability="file.write", input=body, workspace="ws", purpose="to see")
    run_all(runtime)
    answer(Approval.objects.get(), approver, reason="looks right")
    run_all(runtime)
    assert SECRET in (folder / "a.txt").read_text()
    return sent.ref


def test_it_tells_who_asked_who_decided_and_every_event(written):
    code, said = run("audit", written)
    assert code == 0
    for part in ("asked by user:robo", "purpose to see", "file.write", "consumed by ann", "looks right", "Z  "):
        assert part in said
    assert Event.objects.filter(invocation_id=written).count() > 5
    for event in Event.objects.filter(invocation_id=written):
        assert event.hash in said
    assert said.endswith(f"chain verified: {Event.objects.count()} events\n")


def test_as_json_it_is_whole_and_redacted(written):
    code, said = run("audit", written, "--json")
    story = json.loads(said)
    assert code == 0
    assert set(story) == {"execution", "attempts", "calls", "events", "verify"}
    assert (story["execution"]["status"], story["execution"]["side_effect"]) == ("succeeded", "applied")
    (approval,) = story["calls"][0]["approvals"]
    assert (approval["state"], approval["decided_by"], approval["authentication"]) == ("consumed", "ann", "session")
    assert [event["seq"] for event in story["events"]] == list(range(1, len(story["events"]) + 1))
    assert all(event["verified"] for event in story["events"])
    assert story["verify"]["findings"] == []
    assert SECRET not in said
    assert SECRET not in run("audit", written)[1]


def test_it_refuses_what_is_not_there(db):
    assert run("audit", "exec_none") == (2, "no such execution: exec_none")
