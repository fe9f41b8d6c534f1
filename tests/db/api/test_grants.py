"""Standing grants over HTTP and in the admin: made at a real question, used by the next one, revoked."""

import pytest

from approvals.models import Approval, Grant
from executions.models import Execution
from tests.db.api import BASE, WRITE, get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)
SAYS = {"condition": 'target.path.endsWith(".txt")', "uses": 2, "lasts": "1h"}


def make(client, row, **changes):
    body = SAYS | {"version": row.version, "fingerprint": row.fingerprint} | changes
    return client.post(f"{BASE}/approvals/{row.ref}/grant/", body, format="json")


def test_the_next_similar_call_passes_and_after_its_end_none(api, ann, asked, folder, runtime):
    answer = make(ann, asked)
    made = answer.json()
    assert (answer.status_code, made["uses"], made["caller"], made["voted"]) == (201, 1, "robo", ["ann"])
    post(api, WRITE | {"input": {"path": "b.txt", "content": "x"}}, "second")
    post(api, WRITE | {"input": {"path": "b.md", "content": "x"}}, "third")
    run_all(runtime)
    assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]
    assert sorted(Approval.objects.values_list("state", "grant")) == [
        ("consumed", made["grant_ref"]), ("consumed", made["grant_ref"]), ("pending", ""),
    ]  # fmt: skip
    assert set(Execution.objects.values_list("decision_path", flat=True)) == {"human", "deterministic"}
    for client in (api, ann):
        assert [one["uses"] for one in get(client, "/grants/").json()["results"]] == [2]
    url = f"/grants/{made['grant_ref']}/"
    ended = ann.post(f"{BASE}{url}revoke/", {"reason": "enough"}, format="json").json()
    assert (ended["ended_by"], ended["end_reason"]) == ("ann", "enough")
    refused(ann.post(f"{BASE}{url}revoke/", {"reason": "enough"}, format="json"), 409, "STATE_CONFLICT")
    refused(ann.post(f"{BASE}{url}vote/", format="json"), 409, "STATE_CONFLICT")
    assert get(ann, url).json() == ended


def test_what_is_no_grant_is_refused(api, ann, other, asked):
    for change, path in (
        ({"uses": 51}, "/uses"),
        ({"uses": True}, "/uses"),
        ({"lasts": "1y"}, "/lasts"),
        ({"condition": "input.path =="}, "/condition"),
        ({"condition": 'target.path == "b"'}, "/condition"),
        ({"more": 1}, "/more"),
    ):
        assert refused(make(ann, asked, **change), 400, "INVALID_REQUEST")["path"] == path
    refused(make(ann, asked, version=9), 409, "STATE_CONFLICT")
    assert refused(make(api, asked), 403, "SCOPE_DENIED")["rule"] == "approval.agent"
    refused(make(other, asked), 404, "NOT_FOUND")
    refused(get(other, "/grants/grant_" + "0" * 32 + "/"), 404, "NOT_FOUND")
    assert not Grant.objects.exists()


def test_the_admin_lists_and_revokes(ann, asked, approver, client):
    ref = make(ann, asked).json()["grant_ref"]
    client.force_login(approver)
    assert "file.write by robo in ws" in client.get("/admin/approvals/grant/").content.decode()
    assert client.get(f"/admin/approvals/grant/{ref}/change/").status_code == 200
    assert client.post(f"/admin/approvals/grant/{ref}/change/", {"uses": 0}).status_code == 403
    sent = {"action": "revoke", "_selected_action": [ref]}
    client.post("/admin/approvals/grant/", sent)
    assert Grant.objects.get().ended_at is None  # no reason
    client.post("/admin/approvals/grant/", sent | {"reason": "enough"})
    assert Grant.objects.get().ended_by == approver
