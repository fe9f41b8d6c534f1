"""GET executions/<ref>/calls/"""

import pytest

from tests.db.api import get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)
ALWAYS = {
    "call_id", "n", "tool", "effect", "status", "side_effect", "input_digest", "input", "operation_id", "requested_at",
}  # fmt: skip


def test_a_read(api, done):
    (call,) = get(api, f"/executions/{done}/calls/").json()["results"]
    assert set(call) == ALWAYS | {"started_at", "ended_at", "duration_ms", "result", "result_digest"}
    assert (call["call_id"], call["n"], call["status"]) == (f"{done}:forge:1", 1, "succeeded")
    assert (call["input"], call["result"]["content"]) == ({"path": "a.txt"}, "hello")


def test_a_write_that_waits_names_its_paths_and_its_approval(api, asked):
    (call,) = get(api, f"/executions/{asked.execution_ref}/calls/").json()["results"]
    assert set(call) == ALWAYS | {"paths", "approval_ref"}
    assert (call["paths"], call["approval_ref"], call["status"]) == (["a.txt"], asked.ref, "awaiting_approval")


def test_a_tool_that_is_not_there(api, runtime):
    ref = post(api, {"source": "await tools.call('no.such', {}).catch(() => 0)"}).json()["execution_ref"]
    run_all(runtime)
    (call,) = get(api, f"/executions/{ref}/calls/").json()["results"]
    assert (call["effect"], call["status"], call["error_code"]) == ("", "failed", "TOOL_NOT_FOUND")


def test_pages_by_number(api, workspace, folder, runtime):
    source = "for (let i = 0; i < 5; i++) await tools.call('file.list', {})"
    ref = post(api, {"source": source, "workspace": "ws"}).json()["execution_ref"]
    run_all(runtime)
    first = get(api, f"/executions/{ref}/calls/", limit=2).json()
    second = api.get(first["next"]).json()
    assert [call["n"] for call in first["results"] + second["results"]] == [1, 2, 3, 4]
    assert [call["n"] for call in api.get(second["previous"]).json()["results"]] == [1, 2]


@pytest.mark.parametrize("query", ["cursor=x", "cursor=WyJuIiwgMWU5OV0", "q=%00", "limit=0"])
def test_a_bad_query_is_400(api, done, query):
    refused(api.get(f"/api/v1/executions/{done}/calls/?{query}"), 400, "INVALID_REQUEST")


def test_a_patchs_paths_are_known_once_it_was_looked_at(api, workspace, folder, runtime):
    (folder / "a.txt").write_text("one\n")
    patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
    source = f"""const p = await tools.call('artifact.patch-proposal.materialize', {{diff: {patch!r}}});
        await tools.call('patch.apply', {{artifact_ref: p.artifact_ref}})"""
    ref = post(api, {"source": source, "workspace": "ws"}).json()["execution_ref"]
    run_all(runtime)
    made, applied = get(api, f"/executions/{ref}/calls/").json()["results"]
    assert "paths" not in made
    assert (applied["status"], applied["paths"]) == ("awaiting_approval", ["a.txt"])
