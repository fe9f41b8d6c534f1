"""Handles, late outcomes, resolutions, the journal, and what is recorded after sealing."""

import pytest

from forge_project.kernel.errors import Invalid
from forge_project.ledger import aftermath, operations
from forge_project.ledger.aftermath import Resolution
from forge_project.ledger.errors import EventConflict, InvocationSealed, OperationConflict
from forge_project.ledger.events import fact
from forge_project.ledger.journal import journal, standing
from forge_project.ledger.models import Event, Invocation, Operation
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing, writing_after
from tests.db.ledger.test_operations import BAD, GOOD, TOOL, bundle, step

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _ledger_is_clean(db):
    yield
    assert verify().findings == []


def after(do, *args):
    with writing_after("a") as page:
        return do(page, *args)


def states():
    return [entry.state for entry in journal(TOOL.operation_id)]


@pytest.fixture
def parked():
    step(operations.request, TOOL)
    step(operations.prepare, TOOL, 1)
    step(operations.recover, TOOL, bundle("parked", "diverged"))


def test_the_journal_is_derived_from_the_events():
    step(operations.request, TOOL)
    assert standing("a", "c1") == "not_dispatched"
    step(operations.prepare, TOOL, 1)
    assert standing("a", "c1") == "indeterminate"
    step(aftermath.handle, TOOL, 1, "pid:77")
    step(operations.outcome, TOOL, GOOD)
    assert states() == ["prepared", "handle", "outcome_committed"]
    assert [entry.external_handle for entry in journal(TOOL.operation_id)] == ["", "pid:77", "pid:77"]
    assert (Operation.objects.get().external_handle, standing("a", "c1")) == ("pid:77", "completed")
    assert journal("toolop_nowhere") == []
    assert standing("a", "nowhere") is None


def test_every_disposition_has_its_row(parked):
    step(operations.recover, TOOL, bundle("completed", "matches_expected_state", GOOD, attempt=3))
    assert states() == [
        "prepared", "reconcile_observed", "recovery_parked", "reconcile_observed", "outcome_committed",
        "recovery_completed",
    ]  # fmt: skip


def test_a_handle_belongs_to_the_attempt_that_prepared(parked):
    for attempt in (1, 2):
        with pytest.raises(OperationConflict):
            step(aftermath.handle, TOOL, attempt, "x")
    with pytest.raises(Invalid):
        step(aftermath.handle, TOOL, 1, "")


def test_a_late_outcome_is_kept_and_changes_nothing(parked):
    before = Operation.objects.values().get()
    after(aftermath.late, TOOL, 1, GOOD, ["sha256:aa"])
    after(aftermath.late, TOOL, 1, GOOD, ["sha256:aa"])  # the same again writes nothing
    assert Operation.objects.values().get() == before
    assert states()[-1] == "late_outcome"
    told = journal(TOOL.operation_id)[-1].metadata
    assert (told["result"], told["artifacts"]) == ({"ok": True}, ["sha256:aa"])
    with pytest.raises(EventConflict):
        after(aftermath.late, TOOL, 1, BAD)


def test_a_late_outcome_needs_its_dispatch_and_an_open_question(parked):
    with pytest.raises(OperationConflict):
        after(aftermath.late, TOOL, 2, GOOD)
    step(operations.recover, TOOL, bundle("completed", "matches_expected_state", GOOD, attempt=3))
    after(aftermath.late, TOOL, 1, BAD)  # what really happened, though it was settled otherwise


def test_an_outcome_is_never_late_after_itself():
    step(operations.prepare, TOOL, 1)
    step(operations.outcome, TOOL, GOOD)
    with pytest.raises(OperationConflict):
        after(aftermath.late, TOOL, 1, GOOD)


def test_a_person_resolves_once(parked):
    found = Resolution(became="applied", actor="user:oscar", reason="looked at the file")
    assert standing("a", "c1") == "parked"
    assert step(aftermath.resolve, TOOL, found) is True
    assert step(aftermath.resolve, TOOL, found) is False
    with pytest.raises(EventConflict):
        step(aftermath.resolve, TOOL, Resolution(became="not_applied", actor="user:oscar", reason="no"))
    assert (states()[-1], Operation.objects.get().state, standing("a", "c1")) == ("resolved", "resolved", "completed")
    with pytest.raises(OperationConflict):
        step(operations.recover, TOOL, bundle("parked", "diverged", attempt=4))
    with pytest.raises(OperationConflict):
        step(operations.prepare, TOOL, 4)


def test_only_a_parked_operation_is_resolved():
    step(operations.prepare, TOOL, 1)
    found = Resolution(became="applied", actor="user:oscar", reason="x")
    with pytest.raises(OperationConflict):
        step(aftermath.resolve, TOOL, found)
    with pytest.raises(Invalid):
        step(aftermath.resolve, TOOL, Resolution(became="applied", actor="user:oscar", reason=""))


@pytest.mark.parametrize(
    ("seen", "scan"),
    [
        (("completed", "diverged", GOOD), "reconcile_decision_conflict"),
        (("not_applied", "matches_expected_state", BAD), "reconcile_decision_conflict"),
        (("completed", "matches_expected_state", BAD), "outcome_not_successful"),
        (("not_applied", "matches_prior_state", GOOD), "outcome_not_successful"),
        (("completed", "matches_expected_state"), "outcome_required"),
        (("parked", "diverged", BAD), "outcome_for_parked"),
    ],
)
def test_a_bundle_that_contradicts_itself_says_how(seen, scan):
    step(operations.prepare, TOOL, 1)
    with pytest.raises(OperationConflict) as refused:
        step(operations.recover, TOOL, bundle(*seen))
    assert refused.value.facts["scan"] == scan


def seal(name="a"):
    with writing(name) as page:
        page.add(fact("execution.finished", status="failed"))


def test_what_comes_after_sealing_opens_a_successor(parked):
    with writing_after("a") as page:
        assert page.invocation_id == "a"
    seal()
    after(aftermath.late, TOOL, 1, GOOD)
    after(aftermath.late, TOOL, 1, GOOD)
    after(lambda page: page.add(fact("asked.again")))
    second = Invocation.objects.get(pk="a~1")
    head = Invocation.objects.get(pk="a")
    assert (second.follows, second.owner, second.head_seq, head.family) == ("a", head.owner, 2, ["a", "a~1"])
    assert Event.objects.get(invocation_id="a~1", seq=1).prev_hash == head.head_hash
    with writing_after("a") as page:
        page.add(fact("end", status="completed"))
    after(lambda page: page.add(fact("purged")))
    assert Invocation.objects.get(pk="a").family == ["a", "a~1", "a~2"]
    assert Invocation.objects.get(pk="a~2").follows == "a~1"
    assert states()[-1] == "late_outcome"
    with pytest.raises(InvocationSealed):
        step(lambda page: page.add(fact("too late")))
