"""POST executions/lookup/"""

import pytest

from executions.models import Execution
from tests.db.api import READ, post, refused

pytestmark = pytest.mark.django_db


def test_finds_what_the_key_and_body_made(api, workspace):
    made = post(api, READ).json()
    found = post(api, READ, path="/executions/lookup/")
    assert (found.status_code, found.json()) == (200, made)


def test_starts_nothing(api, workspace):
    refused(post(api, READ, path="/executions/lookup/"), 404, "NOT_FOUND")
    assert not Execution.objects.exists()


def test_another_body_is_a_conflict(api, workspace):
    post(api, {"source": "1"})
    refused(post(api, {"source": "2"}, path="/executions/lookup/"), 409, "IDEMPOTENCY_CONFLICT")


def test_anothers_key_is_not_there(api, other):
    post(api, {"source": "1"})
    refused(post(other, {"source": "1"}, path="/executions/lookup/"), 404, "NOT_FOUND")
