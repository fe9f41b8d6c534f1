"""POST executions/<ref>/analysis/"""

import pytest

from executions.models import Execution
from forge_project.ledger.selectors import events, payload
from tests.db.api import get, post, refused
from tests.db.executions import run_all

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ref(api):
    return post(api, {"source": "1"}).json()["execution_ref"]


def link(client, ref, body):
    return client.post(f"/api/v1/executions/{ref}/analysis/", body, format="json")


def facts(ref):
    told = [payload(event)["actions"]["forge"] for event in events(ref)]
    return [fact["analysis_ref"] for fact in told if fact["fact"] == "execution.analysis_linked"]


def test_it_is_on_the_record_and_in_the_ledger_once(api, ref):
    for _ in range(2):
        assert link(api, ref, {"analysis_ref": "job-1"}).json()["analysis_ref"] == "job-1"
    link(api, ref, {"analysis_ref": "job-2"})
    assert get(api, f"/executions/{ref}/").json()["analysis_ref"] == "job-2"
    assert facts(ref) == ["job-1", "job-2"]


def test_a_finished_one_is_409(api, ref, runtime):
    run_all(runtime)
    assert refused(link(api, ref, {"analysis_ref": "job"}), 409, "STATE_CONFLICT")["status"] == "succeeded"
    assert Execution.objects.get().analysis_ref == ""


@pytest.mark.parametrize("body", [{}, {"analysis_ref": ""}, {"analysis_ref": "a b"}, {"analysis_ref": 1}, {"x": 1}, []])
def test_a_bad_body_is_400(api, ref, body):
    refused(link(api, ref, body), 400, "INVALID_REQUEST")


def test_it_is_its_callers_alone(api, ref, other, operator):
    refused(link(other, ref, {"analysis_ref": "job"}), 404, "NOT_FOUND")
    refused(link(operator, ref, {"analysis_ref": "job"}), 403, "SCOPE_DENIED")
