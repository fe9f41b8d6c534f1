"""Every recovery mode after a crash between dispatch and outcome: the table of the design."""

import pytest

from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, Execution
from executions.services import catalog
from executions.services.reconcile import reconcile
from executions.services.sealed import unseal
from forge_project.kernel import failpoints
from forge_project.ledger.models import Event
from tests import modes
from tests.db.executions import run_all, run_one, send

pytestmark = pytest.mark.django_db(transaction=True)
ALL = [modes.Check, modes.Post, modes.Job, modes.Fire, modes.Peek]


@pytest.fixture(autouse=True)
def _known(marker, approver):
    for kind in ALL:
        catalog.registry().add(kind())
    save_rule(SaveRule(name="modes", priority=1, capability="modes.*", decision="ALLOW", author=approver))
    yield
    for kind in ALL:
        del catalog.registry()._by_name[kind.name]


def crashed(caller, runtime, kind, **body):
    sent = send(caller, **body)
    with failpoints.crash_at("effect.after"):
        run_one(runtime)
    reconcile(runtime)
    run_all(runtime)
    return Execution.objects.get(pk=sent.ref), Call.objects.get()


@pytest.mark.parametrize("interruption", ["fail", "resume"])
@pytest.mark.parametrize(
    ("kind", "ends", "status", "error", "effect"),
    [
        (modes.Check, "failed", "failed", "INTERRUPTED", "not_applied"),
        (modes.Post, "failed", "failed", "INTERRUPTED", "not_applied"),
        (modes.Job, "succeeded", "succeeded", "", "applied"),
        (modes.Fire, "unknown", "unknown", "UNKNOWN_SIDE_EFFECT", "unknown"),
    ],
)
def test_an_effect_is_never_dispatched_twice(caller, runtime, kind, ends, status, error, effect, interruption):
    done, call = crashed(caller, runtime, kind, capability=kind.name, input={}, interruption=interruption)
    assert (done.status, done.error_code, done.side_effect) == (ends, error, effect)
    assert (call.status, call.side_effect) == (status, effect)
    assert Event.objects.filter(kind="tool_dispatch").count() == 1


def test_a_read_is_asked_again_when_resumed_and_fails_otherwise(caller, runtime):
    done, call = crashed(caller, runtime, modes.Peek, capability="modes.peek", input={}, interruption="resume")
    assert (done.status, unseal(done.sealed_result), call.attempt) == ("succeeded", {"done": True}, 2)
    assert Event.objects.filter(kind="tool_dispatch").count() == 2


def test_a_read_that_is_not_resumed(caller, runtime):
    done, call = crashed(caller, runtime, modes.Peek, capability="modes.peek", input={})
    assert (done.status, done.error_code, call.status, done.side_effect) == (
        "failed",
        "INTERRUPTED",
        "failed",
        "not_applied",
    )


def test_an_unknown_call_stops_a_script_whatever_it_wanted(caller, runtime):
    source = "try { await tools.call('modes.fire', {}) } catch (e) {} return 1"
    done, call = crashed(caller, runtime, modes.Fire, source=source, interruption="resume")
    assert (done.status, done.error_code, done.retryable, call.status) == (
        "unknown",
        "UNKNOWN_SIDE_EFFECT",
        False,
        "unknown",
    )
