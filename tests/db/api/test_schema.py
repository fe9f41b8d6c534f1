"""GET schema/"""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import get_resolver

from tests.db.api import refused
from tests.db.api.test_authentication import EVERY

pytestmark = pytest.mark.django_db


@pytest.fixture
def described(client):
    return json.loads(client.get("/api/v1/schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").content)


def test_it_is_valid_and_without_a_warning(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "x.yml"), stderr=StringIO())


def test_anybody_may_read_it(described):
    assert described["openapi"].startswith("3.1")
    assert set(described["components"]["securitySchemes"]) == {"token", "cookieAuth"}


@pytest.mark.parametrize("query", ["format=xml", "lang=%00", "version=%00", "version=../x", "lang=../../x", "q=%FF"])
def test_an_odd_query_is_never_a_5xx(client, query):
    assert client.get(f"/api/v1/schema/?{query}").status_code < 500


def test_its_refusals_are_json_too(client):
    assert refused(client.get("/api/v1/schema/", HTTP_AUTHORIZATION="Token x"), 401, "IDENTITY_INVALID") == {}


def test_every_endpoint_is_in_it_with_its_refusals(described):
    for verb, path in EVERY:
        shape = path.replace("exec_" + "0" * 32, "{ref}").replace("appr_" + "0" * 32, "{ref}")
        shape = shape.replace("sig_" + "0" * 32, "{ref}").replace("hook_" + "0" * 32, "{ref}")
        shape = shape.replace("file.read", "{name}").replace("/sid/", "/{sid}/").replace("/rid/", "/{rid}/")
        operation = described["paths"]["/api/v1" + shape][verb]
        assert {"400", "401"} <= set(operation["responses"])
        assert list(operation["responses"]["401"]["content"]) == ["application/problem+json"]


def test_there_is_no_other_endpoint(described):
    names = {name for name in get_resolver().reverse_dict if isinstance(name, str)}
    assert len(described["paths"]) == len(names - {"schema", "docs", "healthz", "readyz"})
