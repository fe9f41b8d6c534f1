"""T1, T2 and the recovery bundle: each once, each a no-op when repeated exactly, a conflict otherwise."""

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from forge_project.kernel import failpoints
from forge_project.ledger import operations
from forge_project.ledger.errors import OperationConflict
from forge_project.ledger.models import Event, Operation
from forge_project.ledger.operations import Outcome, Recovery, Tool
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing
from tests.db.ledger import identity

pytestmark = pytest.mark.django_db
TOOL = Tool(
    operation_id=operations.operation_id("a", "c1"),
    call_id="c1",
    tool="file.write",
    args={"path": "x"},
    args_digest="jcs1:hmac-sha256:00:aa",
    recovery_mode="reconcile",
)
GOOD = Outcome(result={"ok": True}, result_digest="d")
BAD = Outcome(result={"code": "INTERRUPTED"}, is_error=True)


@pytest.fixture(autouse=True)
def _ledger_is_clean():
    yield
    assert verify().findings == []


def step(do, *args):
    with writing("a", opening=identity("a")) as page:
        return do(page, *args)


def bundle(disposition, observation, outcome=None, attempt=2):
    return Recovery(
        attempt=attempt,
        observation=observation,
        observation_digest="sha256:00",
        disposition=disposition,
        reason="test",
        outcome=outcome,
    )


def kinds():
    return list(Event.objects.order_by("seq").values_list("kind", flat=True))


def test_the_road_of_one_operation():
    step(operations.request, TOOL, "because")
    assert step(operations.prepare, TOOL, 1) is True
    assert step(operations.outcome, TOOL, GOOD) is True
    assert kinds() == ["function_call", "tool_dispatch", "function_response"]
    row = Operation.objects.get()
    assert (row.state, row.version) == ("outcome_committed", 2)


def begin(page, attempt=1):
    """As the machine does it: the call's own row has just proved it new."""
    operations.request(page, TOOL, new=True)
    return operations.prepare(page, TOOL, attempt)


def test_a_new_call_is_one_statement_on_postgresql():
    step(lambda page: None)  # the invocation is there
    with CaptureQueriesContext(connection) as sent:
        assert step(begin) is True
    told = [
        query["sql"].split("(")[0] for query in sent if "INSERT" in query["sql"] and "_invocation (" not in query["sql"]
    ]
    assert len(told) == (1 if connection.vendor == "postgresql" else 2)
    assert kinds() == ["function_call", "tool_dispatch"]
    assert (Operation.objects.get().state, Operation.objects.get().attempt) == ("prepared", 1)
    assert step(operations.prepare, TOOL, 1) is False
    assert step(operations.outcome, TOOL, GOOD) is True


def test_what_waits_for_the_pages_end_is_there_for_who_looks():
    def all_at_once(page):
        assert begin(page) is True
        assert operations.prepare(page, TOOL, 1) is False
        with pytest.raises(OperationConflict):
            operations.prepare(page, TOOL, 2)
        return operations.outcome(page, TOOL, GOOD)

    assert step(all_at_once) is True
    assert kinds() == ["function_call", "tool_dispatch", "function_response"]
    assert Operation.objects.get().state == "outcome_committed"


def test_who_says_new_of_what_is_there_writes_nothing():
    step(begin)
    with pytest.raises(IntegrityError):
        step(begin)
    assert kinds() == ["function_call", "tool_dispatch"]
    assert Operation.objects.get().version == 1


@pytest.mark.parametrize("point", ["ledger.before_insert", "ledger.after_insert", "ledger.after_head"])
def test_a_crash_in_a_new_calls_t1_leaves_nothing(point):
    with failpoints.crash_at(point):
        step(begin)
    assert (kinds(), Operation.objects.count()) == ([], 0)
    assert step(begin) is True


def test_repeats_are_recognised():
    step(operations.request, TOOL)
    step(operations.request, TOOL)
    step(operations.prepare, TOOL, 1)
    assert step(operations.prepare, TOOL, 1) is False
    step(operations.outcome, TOOL, GOOD)
    assert step(operations.outcome, TOOL, GOOD) is False
    assert len(kinds()) == 3


def test_another_outcome_or_a_second_dispatch_is_a_conflict():
    step(operations.request, TOOL)
    step(operations.prepare, TOOL, 1)
    with pytest.raises(OperationConflict):
        step(operations.prepare, TOOL, 2)
    step(operations.outcome, TOOL, GOOD)
    for conflict in (lambda: step(operations.outcome, TOOL, BAD), lambda: step(operations.prepare, TOOL, 2)):
        with pytest.raises(Exception, match=r"other content|dispatched before"):
            conflict()


def test_an_outcome_needs_its_dispatch():
    with pytest.raises(OperationConflict):
        step(operations.outcome, TOOL, GOOD)


def test_a_rejected_call_is_never_dispatched_and_a_dispatched_one_never_rejected():
    step(operations.request, TOOL)
    step(operations.reject, TOOL, BAD)
    step(operations.reject, TOOL, BAD)
    with pytest.raises(OperationConflict):
        step(operations.prepare, TOOL, 1)
    assert kinds() == ["function_call", "function_response"]


def test_rejecting_a_dispatched_call_is_refused():
    step(operations.prepare, TOOL, 1)
    with pytest.raises(OperationConflict):
        step(operations.reject, TOOL, BAD)


@pytest.mark.parametrize(
    ("disposition", "observation", "outcome", "state"),
    [
        ("completed", "matches_expected_state", GOOD, "recovery_completed"),
        ("not_applied", "matches_prior_state", BAD, "recovery_not_applied"),
        ("parked", "diverged", None, "recovery_parked"),
    ],
)
def test_a_recovery_bundle_settles_once(disposition, observation, outcome, state):
    step(operations.request, TOOL)
    step(operations.prepare, TOOL, 1)
    seen = bundle(disposition, observation, outcome)
    step(operations.recover, TOOL, seen)
    step(operations.recover, TOOL, seen)  # the same bundle again writes nothing
    assert Operation.objects.get().state == state
    assert len(kinds()) == (5 if outcome else 4)
    with pytest.raises(OperationConflict):
        step(operations.outcome, TOOL, GOOD)
    with pytest.raises(OperationConflict):
        step(operations.prepare, TOOL, 3)


def test_a_retried_read_is_dispatched_by_a_newer_attempt_only():
    step(operations.request, TOOL)
    step(operations.prepare, TOOL, 1)
    step(operations.recover, TOOL, bundle("retried", "unreadable"))
    with pytest.raises(OperationConflict):
        step(operations.prepare, TOOL, 1)
    assert step(operations.prepare, TOOL, 2) is True
    step(operations.outcome, TOOL, GOOD)


def test_a_parked_operation_that_is_observed_again_may_converge():
    step(operations.request, TOOL)
    step(operations.prepare, TOOL, 1)
    step(operations.recover, TOOL, bundle("parked", "diverged"))
    step(operations.recover, TOOL, bundle("completed", "matches_expected_state", GOOD, attempt=3))
    assert Operation.objects.get().state == "recovery_completed"


def test_bundles_that_contradict_themselves_are_refused():
    step(operations.prepare, TOOL, 1)
    with pytest.raises(OperationConflict):
        step(operations.recover, TOOL, bundle("completed", "matches_expected_state"))
    with pytest.raises(OperationConflict):
        step(operations.recover, TOOL, bundle("parked", "diverged", GOOD))
