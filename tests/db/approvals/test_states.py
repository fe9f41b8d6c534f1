"""The move table is total, and only a person's yes can be used."""

import pytest

from approvals.states import LIVE, MOVES, State

pytestmark = pytest.mark.django_db


def test_every_state_has_its_moves_and_ends_somewhere():
    assert set(MOVES) == set(State)
    assert {onward for moves in MOVES.values() for onward in moves} == set(State) - {State.PENDING}
    assert {State.PENDING, State.APPROVED} == LIVE


def test_only_approved_is_consumed():
    assert [state for state, onward in MOVES.items() if State.CONSUMED in onward] == [State.APPROVED]
