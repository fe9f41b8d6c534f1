"""The figures of the database are what the rows say."""

import pytest
from django.db import DatabaseError, connections
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from executions.models import Execution
from executions.services.metrics import collect
from executions.services.places import CAPS
from forge_project.kernel import failpoints
from forge_project.kernel.latency import REGISTRY, observe
from tests.db.api import WRITE, get, post
from tests.db.executions import answer, run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)


def scrape(registry=None):
    text = generate_latest(registry or collect.registry("")).decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[(sample.name, *sorted(sample.labels.values()))] = sample.value
    return found


def test_an_empty_database():
    told = scrape()
    assert told[("forge_database_up",)] == 1
    assert told[("forge_executions", "queued")] == told[("forge_queue_oldest_seconds",)] == 0
    assert told[("forge_lease_expiries_total",)] == told[("forge_reconcile_seconds_count",)] == 0


def test_what_waits_runs_and_ended(api, caller, workspace, runtime, approver):
    post(api, WRITE, "w")
    run_all(runtime)
    send(caller, key="bad", source="throw new Error('x')")
    send(caller, key="good", source="return 1")
    run_all(runtime)
    send(caller, key="queued", source="return 1")
    told = scrape()
    assert told[("forge_executions", "queued")] == 1
    assert told[("forge_executions", "waiting_approval")] == 1
    assert told[("forge_queue_oldest_seconds",)] > 0
    assert told[("forge_approvals", "pending")] == 1
    assert told[("forge_approvals", "approved")] == 0
    assert told[("forge_guest_endings_total", "ok")] == 1
    error = Execution.objects.get(idempotency_key="bad").error_code
    assert told[("forge_guest_endings_total", error)] == 1
    assert told[("forge_attempts_total", "parked")] == 1
    assert told[("forge_attempts_total", "succeeded")] == 1
    assert told[("forge_signals_unacknowledged",)] == 3
    assert told[("forge_workers",)] == 1
    from approvals.models import Approval

    answer(Approval.objects.get(), approver)
    assert scrape()[("forge_approvals", "approved")] == 1


def test_requests_over_a_cap_by_the_cap(api, settings):
    assert scrape()[("forge_queue_refused_total", "queue.full")] == 0
    settings.FORGE_CALLER_QUEUED = 1
    for key in ("k1", "k2", "k3"):
        post(api, {"source": "1"}, key)
    settings.FORGE_CALLER_DAY_BYTES = 1
    post(api, {"source": "1"}, "k4")
    told = scrape()
    assert [told[("forge_queue_refused_total", rule)] for rule in CAPS] == [2, 1, 0]


def test_a_dead_workers_lease(caller, workspace, runtime):
    from executions.services.reconcile import reconcile

    ref = send(caller, source="return 1").ref
    with failpoints.crash_at("close.before"):
        run_one(runtime)
    runtime.let_go(ref)
    reconcile(runtime)
    told = scrape()
    assert told[("forge_lease_expiries_total",)] == told[("forge_reconcile_seconds_count",)] == 1
    assert 0 <= told[("forge_reconcile_seconds_sum",)] < 60


def test_without_the_database_it_still_answers(monkeypatch):
    def broken():
        raise DatabaseError("gone")
        yield

    monkeypatch.setattr(collect, "_PARTS", (broken,))
    told = scrape()
    assert told == {("forge_database_up",): 0}
    connections.close_all()


def test_a_request_is_counted_under_its_route(api):
    ref = f"exec_{'0' * 32}"
    get(api, f"/executions/{ref}/")
    observe("BREW", "", 200, 0.1)
    counts = [key for key in scrape(REGISTRY) if key[0] == "forge_http_request_seconds_count"]
    assert any("404" in key and "GET" in key for key in counts)
    assert ("forge_http_request_seconds_count", "200", "none", "other") in counts
    assert not any(ref in part for key in counts for part in key)
