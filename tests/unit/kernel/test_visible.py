"""What hides, imitates or pads is told from honest text."""

import time

import pytest

from forge_project.kernel import visible


@pytest.mark.parametrize(("text", "points"), [
    ("plain", ()), ("привет мир", ()), ("naïve café", ()), ("ура, друзья", ()), ("x² … ½ ™ 1ª", ()),
    ("\u24d0dmin", ("U+24D0",)),
    ("p\u0430ypal", ("U+0430",)), ("\uff41bc", ("U+FF41",)), ("\U0001d41aB", ("U+1D41A",)), ("αlpha", ("U+03B1",)),
    ("run \u0441\u0430t now", ("U+0430", "U+0441")), ("run \u0440\u0441 now", ("U+0440", "U+0441")), ("это оно", ()),
])  # fmt: skip
def test_letters_that_imitate_others_are_named(text, points):
    assert visible.imitating(text) == points


def test_running_text_is_shown_with_its_deceit_written_out():
    assert visible.said("p\u0430y \u202eme привет") == "p\\u{0430}y \\u{202E}me привет"


@pytest.mark.parametrize(("text", "is_padded"), [
    ("a b", False), ("        deep = 1", False), ("+" + " " * 100 + "aligned", False), ("a" + " " * 300, False),
    ("ok" + " " * 40 + "; rm -rf", True), (" " * 130 + "far away", True), ("a\n" + "+\n" * 30 + "+b", True),
    ("a\n\n\nb", False), ("a" + "\n" * 200, False), ("a" + "\t" * 50 + "b", True),
])  # fmt: skip
def test_what_is_pushed_out_of_sight_is_found(text, is_padded):
    assert visible.padded(text) == is_padded


def test_long_runs_are_folded_and_short_ones_kept():
    assert visible.folded("a  b\n\nc") == "a  b\n\nc"
    assert visible.folded("a" + " " * 200 + "b") == "a\\u{0020}×200 b"
    assert visible.folded("a" + "\n" * 60 + "b") == "a\n\\u{000A}×60\nb"


def test_hostile_lengths_cost_no_time():
    began = time.process_time()
    for text in (" " * 1_000_000, "\n" * 1_000_000, " \n" * 500_000, "a " * 500_000, ("a" + " " * 39) * 25_000):
        visible.padded(text)
        visible.imitating(text + "а")
    assert time.process_time() - began < 10
