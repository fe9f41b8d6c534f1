"""What every test of Forge may use."""

import pytest


@pytest.fixture(autouse=True)
def _ledger_may_be_flushed(request):
    """Transactional tests flush their tables, in any order; the ledger gives its events up to a tombstone only."""
    marker = request.node.get_closest_marker("django_db")
    if not (marker and marker.kwargs.get("transaction")):
        yield
        return
    request.getfixturevalue("transactional_db")
    yield
    from forge_project.ledger.models import Event, Invocation, Tombstone

    known = Invocation.objects.values_list("pk", flat=True)
    Tombstone.objects.bulk_create([Tombstone(invocation_id=ref) for ref in known], ignore_conflicts=True)
    Event.objects.all()._raw_delete("default")  # before the flush may take the tombstones


@pytest.fixture(autouse=True)
def _rows_are_what_the_events_tell(request, _ledger_may_be_flushed):
    """After every scenario that touched the database. `rows_by_hand`: a test that writes rows behind Forge's back."""
    marker = request.node.get_closest_marker("django_db")
    if marker is None or request.node.get_closest_marker("rows_by_hand"):
        yield
        return
    request.getfixturevalue("transactional_db" if marker.kwargs.get("transaction") else "db")
    yield
    from tests import rebuilt

    assert rebuilt.found() == []


@pytest.fixture
def site(tmp_path):
    """A migrated Forge of its own, for real processes."""
    from tests import sites

    with sites.fresh(tmp_path) as made:
        yield made
