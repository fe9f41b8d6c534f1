"""The frame parser says what kernel.strict_json says; the protocol parser says Violation or a shape, nothing else."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from executions.sandbox import Complete, Fatal, Turn
from executions.sandbox.frames import MAX_DEPTH, Violation, decode
from executions.sandbox.protocol import Ready, parse
from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)
QUIET = {"calls": [], "sleep": [], "catalog": [], "output": [], "log": [], "progress": [], "state": []}


def both(body: bytes):
    """(what decode says, what strict_json says); None is a refusal."""
    try:
        ours = [decode(body)]
    except Violation:
        ours = None
    try:
        theirs = [strict_json.loads(body.decode("ascii"), max_depth=MAX_DEPTH, nul=True)]
    except (Invalid, RecursionError, UnicodeDecodeError):
        theirs = None
    return ours, theirs


@given(VALUES)
def test_any_value(value):
    ours, theirs = both(json.dumps(value).encode())
    assert repr(ours) == repr(theirs)


NUMBERS = ["9007199254740991", "9007199254740992", "-9007199254740992", "[9" + "9" * 5000 + "]", "1e308", "1e309"]
NUMBERS += [
    "-1E+400",
    "1.0e0400",
    "0.30000000000000004",
    "1e5",
    "123456789012345",
    "[1234567890123456]",
    "01",
    "1.",
    ".5",
]
TEXTS = [
    '"\\ud83d\\ude00"',
    '"\\ud83d"',
    '"\\ude00\\ud83d"',
    '{"\\udfff":1}',
    '"\\\\ud800"',
    '"\\u0000"',
    '{"\\u0000":1}',
]
TEXTS += ['"1234567890123456"', "'a'", '"\t"', "", " 1 ", "nul", "NaN", "Infinity", "-Infinity", "+1", "[1,]"]
OBJECTS = ['{"a":1,"a":1}', '{"a":{"b":1,"b":2}}', '{"a":[' + "{}," * 300 + "{}]}", "[" + "[]," * 300 + "[]]"]
OBJECTS += ["[" * deep + "]" * deep for deep in (204, 205, 5000)]


@pytest.mark.parametrize("text", NUMBERS + TEXTS + OBJECTS)
def test_the_odd_ones(text):
    ours, theirs = both(text.encode())
    assert repr(ours) == repr(theirs)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_violation(body):
    with pytest.raises(Violation):
        parse(body, 0)


PAYLOADS = (
    VALUES
    | st.fixed_dictionaries(dict.fromkeys(QUIET, VALUES))
    | st.fixed_dictionaries({"unawaited": VALUES}, optional={"value": VALUES})
    | st.fixed_dictionaries({"code": VALUES, "message": VALUES})
)
KINDS = st.sampled_from(["turn", "complete", "fatal", "ready", "x"])


@given(kind=KINDS, payload=PAYLOADS, seq=st.sampled_from([0, 0, True, "0"]))
@example(kind="turn", payload=QUIET, seq=0)
def test_any_frame_is_a_violation_or_a_shape(kind, payload, seq):
    body = json.dumps({"protocol": 1, "type": kind, "seq": seq, "payload": payload}).encode()
    try:
        frame = parse(body, 0)
    except Violation:
        return
    assert isinstance(frame, Turn | Complete | Fatal | Ready)
    assert seq == 0
