"""Conditions: what is refused on saving, what failing means, and that none can hold a worker up."""

import time

import pytest

from approvals import conditions
from approvals.conditions import Subject, holds
from approvals.errors import Unasked
from forge_project.kernel.errors import Invalid

SEEN = {
    "input": {"url": "https://api.example.com/x", "argv": ["git", "push"], "n": 3, "deep": {"a": [1]}},
    "target": {"host": "api.example.com", "path": "secrets/x", "argv": [], "branch": ""},
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('input.url.startsWith("https://api.example.com/")', True),
        ("target.path.startsWith('secrets/')", True),
        ('input.argv.exists(a, a == "push") && input.n > 2', True),
        ("input.argv.all(a, size(a) < 4)", False),
        ('input["url"] == "x" || has(input.nothing)', False),
        ('input.url.matches(r"^https://[a-z.]+/x$")', True),
        ("input.nothing == 1", None),  # a missing field
        ("input.n < input.url", None),  # a wrong type
        ("input.url", None),  # no yes or no
    ],
)
def test_what_it_says(text, found):
    conditions.check(text)
    assert holds(text, SEEN) is found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "input.",
        "input.n ==",
        "true",
        "1 == 1",
        "inptu.n == 1",
        "input.n == n",
        "user.name == 'x'",
        "input.argv.all(a, input.argv.all(b, a == b))",
        "input.argv.all(a, has(a.x) && (input.argv.exists(b, a == b)))",
        "input.argv.map(a, a).size() > 1",
        "input.argv.filter(a, a != '').size() > 1",
        "(input.argv + input.argv).all(a, a == '')",
        "input.argv.all(a, a.matches('x'))",
        "input.url.matches(input.pattern)",
        "input.url.matches('(')",
        "input.url.matches('" + "a" * 300 + "')",
        'input.url == """x"""',
        "input.url == 'a' // comment",
        "input.n == 1u",
        "now() > input.n",
        "input.n == 1 " + "|| input.n == 1 " * 100,
        "(" * 400 + "input.n" + ")" * 400 + " == 1",
        "[" * 450 + "input.n" + "]" * 450 + " == 1",
        "input.a.all(x, x) && input.b.all(x, x) && input.c.all(x, x) && input.d.all(x, x) && input.e.all(x, x)",
        "input.n == 1\0",
        "input.n == ‘x’",
    ],
)
def test_what_no_condition_may_be(text):
    with pytest.raises(Invalid) as refusal:
        conditions.check(text)
    assert refusal.value.facts["path"] == "/condition"


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("input.l.all(x, x != 'b')", {"l": ["a"] * 1001}),
        ("input.d.all(k, k != 'b')", {"d": {str(n): 1 for n in range(1001)}}),
        ("input.l.all(x, !input.big.contains(x))", {"l": ["b"] * 1000, "big": "a" * 1_000_000}),
        ("size(" + "+".join(["input.b"] * 100) + ") > 0", {"b": "a" * 1_000_000}),
    ],
)
def test_too_much_work_fails_at_once(text, given):
    conditions.check(text)
    began = time.thread_time()
    assert holds(text, {"input": given}) is None
    assert time.thread_time() - began < 0.05


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("input.l.all(x, " + " && ".join(["x != 'b'"] * 75) + ")", {"l": ["a"] * 1000}),
        (" && ".join(["!input.b.contains('zzz')"] * 15), {"b": "a" * 1_000_000}),
        ("input.b.matches('(a|aa)+$') || true", {"b": "a" * 200_000 + "b"}),
        ("input.l.all(x, x.contains('aa') || " + " || ".join(["x.contains('b')"] * 44) + ")", {"l": ["a" * 99] * 1000}),
    ],
)
def test_the_dearest_that_is_let_through_stays_short(text, given):
    """Not one may hold a thread for long: past the deadline it counts as failed, and it never lasts a second."""
    conditions.check(text)
    began = time.thread_time()
    said, spent = holds(text, {"input": given}), time.thread_time() - began
    assert spent < 0.5
    assert said is not None or spent > conditions.DEADLINE_SECONDS


def test_a_subject_is_asked_outside_and_answers_inside():
    looked = []
    subject = Subject(lambda: looked.append(1) or {"n": 1}, lambda: {"host": "h"})
    with pytest.raises(Unasked) as unasked:
        subject.said("input.n == 1")
    assert looked == []
    unasked.value.ask()
    subject.look(["input.n == 1", 'target.host == "h"'])
    assert (subject.said("input.n == 1"), subject.said('target.host == "h"'), looked) == (True, True, [1])


def test_a_target_that_can_not_be_named_fails_its_conditions_only():
    def target():
        raise Invalid("nothing", path="")

    subject = Subject(lambda: {"n": 1}, target)
    subject.look(["input.n == 1", 'target.host != "h"'])
    assert (subject.said("input.n == 1"), subject.said('target.host != "h"')) == (True, None)
