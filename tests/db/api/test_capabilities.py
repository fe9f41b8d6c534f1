"""GET capabilities/ and GET capabilities/<name>/"""

import pytest
from rest_framework.test import APIClient

from approvals.services.rules import SaveRule, save_rule
from tests.db.api import get, refused

pytestmark = pytest.mark.django_db


def names(client):
    return [row["name"] for row in get(client, "/capabilities/").json()["results"]]


def test_the_catalog_is_sorted_and_says_what_needs_a_person(api):
    told = {row["name"]: row for row in get(api, "/capabilities/").json()["results"]}
    assert list(told) == sorted(told)
    assert (told["file.read"]["decision"], told["file.write"]["decision"]) == ("ALLOW", "REVIEW")
    assert told["file.write"]["input_schema"]["additionalProperties"] is False
    assert get(api, "/capabilities/file.read/").json() == told["file.read"]


def test_what_is_denied_to_a_caller_is_not_in_its_catalog(api, other, approver):
    save_rule(SaveRule(name="no", priority=1, capability="file.*", decision="DENY", caller="other", author=approver))
    assert "file.read" in names(api)
    assert not [name for name in names(other) if name.startswith("file.")]
    refused(get(other, "/capabilities/file.read/"), 404, "NOT_FOUND")


@pytest.mark.parametrize("name", ["no.such", "x" * 151, "a%00b", "%FF"])
def test_no_such_capability(api, name):
    refused(api.get(f"/api/v1/capabilities/{name}/"), 404, "NOT_FOUND")


def test_types_are_declarations_of_what_the_caller_may_use(api, other, approver):
    save_rule(SaveRule(name="no", priority=1, capability="file.*", decision="DENY", caller="other", author=approver))
    answer = get(api, "/capabilities/types.d.ts")
    assert answer["Content-Type"] == "application/typescript; charset=utf-8"
    told = answer.content.decode()
    assert '  /** Read a file of the workspace (read) */\n  "file.read": {' in told
    assert "Write a whole file of the workspace (write: waits for a person)" in told
    assert "file.read" not in get(other, "/capabilities/types.d.ts").content.decode()
    again = api.get("/api/v1/capabilities/types.d.ts", HTTP_ACCEPT="application/typescript")
    assert again.content == answer.content


def test_types_are_refused_as_everything_else():
    refused(APIClient().get("/api/v1/capabilities/types.d.ts"), 401, "IDENTITY_INVALID")
