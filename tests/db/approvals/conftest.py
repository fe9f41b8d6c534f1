"""A robot, its owner and two approvers; what the port was told; a ledger that verifies after every test."""

import pytest
from django.contrib.auth.models import User

from approvals import ports
from forge_project.kernel import clock
from forge_project.ledger.verify import verify
from tests.db.approvals import agent, person


@pytest.fixture(autouse=True)
def told(monkeypatch):
    """(ref, state) of every approval the port was told of."""
    heard = []
    monkeypatch.setattr(ports, "decided", lambda page, row: heard.append((row.ref, row.state)))
    return heard


@pytest.fixture(autouse=True)
def _ledger_verifies(request):
    marker = request.node.get_closest_marker("django_db")
    request.getfixturevalue("transactional_db" if marker.kwargs.get("transaction") else "db")
    yield
    assert verify().findings == []


@pytest.fixture
def owner(_ledger_verifies):
    return person("owen")


@pytest.fixture
def robot(owner):
    return agent("robot", owner)


@pytest.fixture
def ada(_ledger_verifies):
    return person("ada")


@pytest.fixture
def bob(_ledger_verifies):
    return person("bob")


@pytest.fixture
def nobody(_ledger_verifies):
    return User.objects.create_user("nobody")


@pytest.fixture
def turn(monkeypatch):
    """Moves the clock: `turn(hours=1)`."""
    from datetime import timedelta

    real, ahead = clock.now, [timedelta()]
    monkeypatch.setattr(clock, "now", lambda: real() + ahead[0])
    return lambda **by: ahead.__setitem__(0, ahead[0] + timedelta(**by))
