"""The storm's rule for what is stuck."""

import pytest

from tests.chaos.stillness import Stillness


def run(*looks, step=4.0):
    """Looks every `step` seconds; each is (mark, kept), or None where the execution is not open."""
    watched = Stillness()
    at = watched._looked
    for look in looks:
        at += step
        seen = [] if look is None else [{"ref": "e", "status": "queued", "mark": look[0], "kept": look[1], "why": ""}]
        watched.look(seen, at)
    return watched


STILL = [("1", False)] * 17  # 64 s


@pytest.mark.parametrize(
    ("looks", "stuck"),
    [
        (STILL, True),
        (STILL[:16], False),
        ([*STILL, ("2", False), None], True),  # what becomes of it later does not undo it
        ([*STILL[:9], ("2", False), *[("2", False)] * 9], False),
        ([*STILL[:9], ("1", True), *STILL[:9]], False),  # a person, or no worker, kept it in between
        ([("1", True)] * 40, False),
    ],
)
def test_a_minute_without_a_move_and_without_a_reason(looks, stuck):
    assert bool(run(*looks).stuck) is stuck


def test_a_watcher_that_was_away_counts_nothing():
    assert not run(*STILL, step=6.0).stuck


def test_it_is_over_when_nothing_is_open_but_what_is_stuck():
    assert (run(*STILL).over(), run(*STILL[:5]).over(), run(None).over()) == (True, False, True)
