"""GET executions/"""

import base64
import json
from datetime import timedelta
from itertools import chain

import pytest

from executions.models import Execution
from forge_project.kernel import clock
from tests.db.api import READ, get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)


def send(api, key, **body):
    return post(api, {"source": "1"} | body, key).json()["execution_ref"]


def refs(answer):
    assert answer.status_code == 200, answer.content
    return [row["execution_ref"] for row in answer.json()["results"]]


def follow(client, page, way):
    """Every page from `page` on, by its links."""
    pages = [page.json()]
    while pages[-1][way]:
        pages.append(client.get(pages[-1][way]).json())
    return [[row["execution_ref"] for row in one["results"]] for one in pages]


def test_newest_first_without_results(api, done):
    latest = send(api, "k2")
    answer = get(api, "/executions/").json()
    assert [row["execution_ref"] for row in answer["results"]] == [latest, done]
    assert (answer["next"], answer["previous"]) == (None, None)
    assert "result" not in answer["results"][1]
    assert answer["results"][1]["receipt"]["seq"] > 1


@pytest.mark.django_db
def test_only_ones_own(api, other, operator):
    mine, theirs = send(api, "k"), send(other, "k")
    assert (refs(get(api, "/executions/")), refs(get(other, "/executions/"))) == ([mine], [theirs])
    assert refs(get(operator, "/executions/")) == [theirs, mine]


@pytest.mark.django_db
def test_pages_there_and_back(api):
    sent = [send(api, f"k{n}") for n in range(7)][::-1]
    first = get(api, "/executions/", limit=3)
    assert follow(api, first, "next") == [sent[:3], sent[3:6], sent[6:]]
    last = api.get(api.get(first.json()["next"]).json()["next"])
    assert follow(api, last, "previous") == [sent[6:], sent[3:6], sent[:3]]


@pytest.mark.django_db
def test_rows_of_one_instant_are_neither_skipped_nor_doubled(api):
    sent = [send(api, f"k{n}") for n in range(5)]
    Execution.objects.update(created_at=clock.now())
    pages = follow(api, get(api, "/executions/", limit=2), "next")
    assert list(chain(*pages)) == sorted(sent, reverse=True)


@pytest.mark.django_db
def test_new_rows_do_not_move_a_page(api):
    sent = [send(api, f"k{n}") for n in range(4)]
    first = get(api, "/executions/", limit=2)
    send(api, "later")
    assert refs(api.get(first.json()["next"])) == [sent[1], sent[0]]


def test_a_root_session_comes_in_the_order_it_started(api, runtime):
    one = [send(api, f"k{n}", root_session_id="r") for n in range(3)]
    run_all(runtime)
    moment = clock.now()
    for ref, ago in zip(one, (1, 3, 2), strict=True):
        Execution.objects.filter(pk=ref).update(started_at=moment - timedelta(hours=ago))
    queued = [send(api, f"q{n}", root_session_id="r") for n in range(2)]
    send(api, "elsewhere")
    expected = [one[1], one[2], one[0], *queued]
    assert refs(get(api, "/executions/", root_session="r")) == expected
    first = get(api, "/executions/", root_session="r", limit=2)
    assert list(chain(*follow(api, first, "next"))) == expected


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"status": "succeeded"}, ["done"]),
        ({"status": "queued"}, ["k2"]),
        ({"kind": "script"}, ["k2"]),
        ({"kind": "capability"}, ["done"]),
        ({"capability": "file.read"}, ["done"]),
        ({"capability": "script.run"}, ["k2"]),
        ({"session": "s"}, ["k2"]),
        ({"root_session": "rs"}, ["k2"]),
        ({"task": "t"}, ["k2"]),
        ({"task": "t", "status": "succeeded"}, []),
        ({"task": "T"}, []),
        ({"created_after": "2000-01-01T00:00:00Z"}, ["k2", "done"]),
        ({"created_before": "2000-01-01T00:00:00Z"}, []),
    ],
)
def test_filters(api, done, query, found):
    post(api, {"source": "1", "session_id": "s", "root_session_id": "rs", "task_id": "t"}, "k2")
    assert [row["idempotency_key"] for row in get(api, "/executions/", **query).json()["results"]] == found


BAD = [
    "status=nope", "status=", "status=queued&status=queued", "kind=x", "capability=a%20b", "session=%00",
    "root_session=%0A", "task=" + "x" * 151, "created_after=yesterday", "created_after=0001-01-01T00:00:00%2B14:00",
    "created_before=2026-13-01T00:00:00Z", "limit=0", "limit=201", "limit=-1", "limit=x", "limit=" + "9" * 5000,
    "cursor=", "cursor=x", "cursor=%00", "cursor=%FF", "cursor=W10", "cursor=" + "W1td" * 90, "format=json",
    "nope=1", "%00=1",
    "%FF=%FF", "page=2", "session=%FF",
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("query", BAD)
def test_a_bad_query_is_400(api, query):
    assert refused(api.get(f"/api/v1/executions/?{query}"), 400, "INVALID_REQUEST")["path"].startswith("/")


REF, AT = "exec_" + "0" * 32, "2026-01-01T00:00:00Z"
FORGED = [
    ["n"], ["n", "x", "y"], ["n", None, REF], ["n", "2026-01-01", REF], ["n", AT, "exec_\0"], ["q", AT, REF], {}, 1,
    None, ["n", AT, ["x"]], ["n", 10**30, REF], ["n", "0001-01-01T00:00:00+23:59", REF], ["n", AT, REF, REF],
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("told", FORGED)
def test_a_forged_cursor_is_400(api, told):
    cursor = base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")
    refused(get(api, "/executions/", cursor=cursor), 400, "INVALID_REQUEST")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/executions/", "/approvals/", "/capabilities/"])
@pytest.mark.parametrize("query", ["q=%00", "limit=%00", "cursor=%00", "status=%00", "%00"])
def test_nul_in_any_lists_query_is_400(api, path, query):
    refused(api.get(f"/api/v1{path}?{query}"), 400, "INVALID_REQUEST")


@pytest.mark.django_db
def test_a_refused_number_leaves_the_list_alone(api, workspace):
    post(api, READ | {"input": {"path": "a", "offset": 10**40}}, "k9")
    assert refs(get(api, "/executions/")) == []
