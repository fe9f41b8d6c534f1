"""Bodies that are not what they should be: 4xx with the path of the fault, and nothing is stored."""

import json

import pytest

from executions.models import Execution
from forge_project.kernel.parsing import MAX_BODY
from tests.db.api import BASE, get, post, refused

pytestmark = pytest.mark.django_db
EXECUTIONS = f"{BASE}/executions/"


def raw(client, body, kind="application/json", path=EXECUTIONS, **headers):
    return client.generic("POST", path, body, content_type=kind, HTTP_IDEMPOTENCY_KEY="k1", **headers)


MALFORMED = [
    ("", "/source"),
    ("{", ""),
    ("null", ""),
    ("[]", ""),
    ('"x"', ""),
    ("{'source': 1}", ""),
    (b'{"source": "\xff"}', ""),
    ('{"source": 1}', "/source"),
    ('{"source": true}', "/source"),
    ('{"source": null}', "/source"),
    ('{"source": "1", "nope": 1}', "/nope"),
    ('{"source": "1", "wait": 1}', "/wait"),
    ('{"source": "1", "idempotency_key": "k"}', "/idempotency_key"),
    ('{"source": "1", "kind": "script"}', "/kind"),
    ('{"source": "1", "capability": "file.read", "input": {}}', "/source"),
    ("{}", "/source"),
    ('{"capability": "file.read"}', "/input"),
    ('{"capability": "no.such", "input": {}}', "/capability"),
    ('{"capability": "file.read", "input": {}}', "/input/path"),
    ('{"capability": "file.read", "input": {"path": "a", "x": 1}}', "/input/x"),
    ('{"capability": "file.read", "input": {"path": "../a"}}', "/input/path"),
    ('{"capability": "file.read", "input": {"path": "/a"}}', "/input/path"),
    ('{"capability": "file.read", "input": {"path": "a\\u0000/../b"}}', "/input/path"),
    ('{"capability": "file.read", "input": {"path": "a", "path": "b"}}', "/input/path"),
    ('{"capability": "file.read", "input": {"path": "a", "offset": 1.0}}', "/input/offset"),
    ('{"capability": "file.read", "input": {"path": "a"}, "limits": {}}', "/limits"),
    ('{"source": "1", "source": "2"}', "/source"),
    ('{"source": "1", "input": {"a": 1, "b": [{"c": 1, "c": 2}]}}', "/input/b/0/c"),
    ('{"source": "1", "input": {"n": 2512292042121000001}}', "/input/n"),
    ('{"source": "1", "input": 9007199254740992}', "/input"),
    ('{"source": "1", "input": ' + "1" * 40 + "}", "/input"),
    ('{"source": "1", "input": ' + "1" * 5000 + "}", "/input"),
    ('{"source": "1", "input": [NaN]}', "/input/0"),
    ('{"source": "1", "input": [0, Infinity]}', "/input/1"),
    ('{"source": "1", "input": -Infinity}', "/input"),
    ('{"source": "1", "input": {"x": 1e400}}', "/input/x"),
    ('{"source": "1", "input": "\\u0000"}', "/input"),
    ('{"source": "1", "input": "\\ud800"}', "/input"),
    ('{"source": "1", "input": {"\\udc00": 1}}', "/input/\\udc00"),
    ('{"source": "\\ud800"}', "/source"),
    ('{"source": "1", "input": ' + "[" * 200 + "]" * 200 + "}", "/input" + "/0" * 199),
    ("[" * 20_000 + "]" * 20_000, "/0" * 200),
    ('{"a":' * 20_000 + "1" + "}" * 20_000, "/a" * 200),
    ('{"source": "1", "timeout_ms": true}', "/timeout_ms"),
    ('{"source": "1", "timeout_ms": 0}', "/timeout_ms"),
    ('{"source": "1", "timeout_ms": "9"}', "/timeout_ms"),
    ('{"source": "1", "limits": {"cpu_ms": 1e9}}', "/limits/cpu_ms"),
    ('{"source": "1", "limits": {"cpu": 1}}', "/limits/cpu"),
    ('{"source": "1", "run_no": 9007199254740992}', "/run_no"),
    ('{"source": "1", "session_id": "a b"}', "/session_id"),
    ('{"source": "1", "session_id": "a\\n"}', "/session_id"),
    ('{"source": "1", "task_id": "a\\n"}', "/task_id"),
    ('{"source": "1", "workspace": "ws\\n"}', "/workspace"),
    ('{"source": "1", "client_ref": "' + "x" * 151 + '"}', "/client_ref"),
    ('{"source": "1", "purpose": "' + "x" * 501 + '"}', "/purpose"),
    ('{"source": "1", "purpose": "a\\u0000"}', "/purpose"),
    ('{"source": "1", "interruption": "maybe"}', "/interruption"),
    ('{"source": "1", "on_behalf_of": ""}', "/on_behalf_of"),
]


@pytest.mark.parametrize("path", ["", "lookup/"], ids=["submit", "lookup"])
@pytest.mark.parametrize(("body", "fault"), MALFORMED)
def test_malformed(api, body, fault, path):
    facts = refused(raw(api, body, path=EXECUTIONS + path), 400, "INVALID_REQUEST")
    assert facts["path"] == fault
    assert not Execution.objects.exists()
    assert get(api, "/executions/").json()["results"] == []


@pytest.mark.parametrize("depth", [199, 198])
def test_as_deep_as_allowed(api, depth):
    assert raw(api, '{"source": "1", "input": ' + "[" * depth + "]" * depth + "}").status_code == 202


def test_large_whole_numbers_and_floats_pass(api):
    body = {"source": "1", "input": [2**53 - 1, -(2**53) + 1, 1e308, 1e-7, "2512292042121000001"]}
    assert post(api, body).status_code == 202


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "multipart/form-data; boundary=x", ""],
)
def test_what_is_not_json_is_415(api, kind):
    refused(raw(api, '{"source": "1"}', kind), 415, "INVALID_REQUEST")


def test_an_encoded_body_is_415(api):
    refused(raw(api, "{}", HTTP_CONTENT_ENCODING="gzip"), 415, "INVALID_REQUEST")


def test_a_body_over_two_mib_is_413(api):
    body = json.dumps({"source": "1", "input": "x" * MAX_BODY})
    assert refused(raw(api, body), 413, "BYTES_LIMIT")["limit"] == MAX_BODY


def test_a_source_over_its_limit_is_413(api):
    assert refused(post(api, {"source": "x" * (2**20 + 1)}), 413, "BYTES_LIMIT")["path"] == "/source"


def test_the_same_data_in_another_order_is_the_same_request(api):
    first = raw(api, '{"source": "1", "input": {"a": 1.0, "b": 1e-7, "\\ud83d\\ude00": 2, "\\ufb33": 3}}')
    again = raw(api, '{"input": {"\\ufb33": 3, "\\ud83d\\ude00": 2, "b": 0.0000001, "a": 1}, "source": "1"}')
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["execution_ref"] == again.json()["execution_ref"]
