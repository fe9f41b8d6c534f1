"""What holds for every endpoint: methods, addresses, hosts, ids."""

import pytest

from tests.db.api import BASE, get, post, refused
from tests.db.api.test_authentication import EVERY

pytestmark = pytest.mark.django_db


UNKNOWN = [
    (verb, path)
    for verb in ("PUT", "PATCH", "DELETE", "TRACE", "NOPE")
    for path in sorted({path for _, path in EVERY})
    if (verb.lower(), path) not in EVERY
]


@pytest.mark.parametrize(("verb", "path"), UNKNOWN)
def test_an_unknown_method_is_405(api, verb, path):
    if (verb.lower(), path) in EVERY:
        pytest.skip("it has this one")
    answer = api.generic(verb, BASE + path)
    refused(answer, 405, "INVALID_REQUEST")
    assert answer["Allow"]


@pytest.mark.parametrize("path", ["/nope/", "/", "/executions/\xff/", "/%FF%FE/", "/executions/%00/", "/executions//"])
def test_an_unknown_address_is_404(api, path):
    refused(api.get(BASE + path), 404, "NOT_FOUND")


def test_a_host_that_is_not_ours_is_400(api):
    refused(api.get(f"{BASE}/executions/", HTTP_HOST="evil.example"), 400, "INVALID_REQUEST")


def test_more_parameters_than_anybody_needs_are_400(api):
    refused(api.get(f"{BASE}/executions/?" + "&".join(f"a{n}=1" for n in range(1100))), 400, "INVALID_REQUEST")


def test_what_we_cannot_write_is_406(api):
    refused(api.get(f"{BASE}/executions/", HTTP_ACCEPT="text/csv"), 406, "INVALID_REQUEST")


def test_the_request_id_comes_back(api):
    assert api.get(f"{BASE}/executions/", HTTP_X_REQUEST_ID="mine-1")["X-Request-Id"] == "mine-1"


@pytest.mark.parametrize("path", ["lookup/", f"exec_{'0' * 32}/cancel/"])
def test_endpoints_without_a_query_take_none(api, path):
    refused(post(api, {"source": "1"}, query="?q=%00", path=f"/executions/{path}"), 400, "INVALID_REQUEST")


def test_a_bug_is_a_problem_too(api, monkeypatch):
    def broken(user, wanted):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("executions.selectors.rows.matching", broken)
    api.raise_request_exception = False
    answer = get(api, "/executions/")
    refused(answer, 500, "EXECUTION_FAILED")
    assert "secret" not in answer.content.decode()
