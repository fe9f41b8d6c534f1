"""GET capabilities/ and GET capabilities/<name>/"""

import pytest

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
