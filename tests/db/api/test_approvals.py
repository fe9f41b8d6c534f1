"""GET approvals/ and GET approvals/<ref>/"""

import pytest

from approvals.selectors import as_json
from tests.db.api import WRITE, get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_agent_sees_its_own_and_an_approver_all(api, ann, operator, other, asked):
    for client in (api, ann, operator):
        assert get(client, "/approvals/").json()["results"] == [as_json(asked)]
        assert get(client, f"/approvals/{asked.ref}/").json() == as_json(asked) | {"denied_before": []}
    assert get(other, "/approvals/").json()["results"] == []
    refused(get(other, f"/approvals/{asked.ref}/"), 404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"state": "pending"}, 1),
        ({"state": "approved"}, 0),
        ({"risk": "medium"}, 1),
        ({"capability": "file.write"}, 1),
        ({"capability": "file.read"}, 0),
        ({"execution": "exec_" + "0" * 32}, 0),
    ],
)
def test_filters(ann, asked, query, count):
    assert len(get(ann, "/approvals/", **query).json()["results"]) == count


def test_pages(api, ann, workspace, runtime):
    for n in range(3):
        post(api, WRITE | {"input": {"path": f"{n}", "content": "x"}}, f"k{n}")
    run_all(runtime)
    first = get(ann, "/approvals/", limit=2).json()
    second = ann.get(first["next"]).json()
    assert [row["target"] for row in first["results"] + second["results"]] == ["2", "1", "0"]
    assert second["next"] is None


@pytest.mark.parametrize(
    "query", ["state=x", "risk=", "capability=%00", "execution=x", "cursor=%00", "q=%00", "limit=0"]
)
def test_a_bad_query_is_400(ann, query):
    refused(ann.get(f"/api/v1/approvals/?{query}"), 400, "INVALID_REQUEST")


@pytest.mark.parametrize("ref", ["appr_" + "0" * 32, "appr_%00", "x"])
def test_no_such_ref(ann, ref):
    refused(ann.get(f"/api/v1/approvals/{ref}/"), 404, "NOT_FOUND")
