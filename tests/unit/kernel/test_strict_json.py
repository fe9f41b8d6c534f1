"""What can't be kept losslessly is refused, with the place of the fault."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge_project.kernel import strict_json
from forge_project.kernel.errors import Invalid

REFUSED = [
    (b'{"effect":"deny","effect":"allow"}', "/effect", "json.duplicate_key"),
    (b'{"a":[1,{"b":1,"b":2}]}', "/a/1/b", "json.duplicate_key"),
    (b'{"a":NaN}', "/a", "json.number"),
    (b"[1,-Infinity]", "/1", "json.number"),
    (b'{"a":[1e400]}', "/a/0", "json.number"),
    (b'{"id":2512292042121000001}', "/id", "json.integer"),
    (b'{"id":-9007199254740992}', "/id", "json.integer"),
    (b'{"id":' + b"9" * 5000 + b"}", "/id", "json.integer"),
    (b'{"a/b~c":"x\\u0000"}', "/a~1b~0c", "json.nul"),
    (b'{"a":"\\ud800"}', "/a", "json.surrogate"),
    (b'{"\\ud800":1}', "/\\ud800", "json.surrogate"),
    (b"[" * 20000 + b"]" * 20000, "/0" * 200, "json.depth"),
    (b'{"a":' * 201 + b"1" + b"}" * 201, "/a" * 200, "json.depth"),
    (b'{"a":"\xff"}', "", "json.encoding"),
    (b"", "", "json.syntax"),
    (b"[01]", "", "json.syntax"),
    (b"[1,]", "", "json.syntax"),
    (b'{"a":1}x', "", "json.syntax"),
    (b"[.5]", "", "json.syntax"),
    (b"['a']", "", "json.syntax"),
    (b"\xef\xbb\xbf{}", "", "json.syntax"),
]


@pytest.mark.parametrize(("data", "path", "rule"), REFUSED, ids=range(len(REFUSED)))
def test_a_fault_is_refused_with_its_path(data, path, rule):
    with pytest.raises(Invalid) as refused:
        strict_json.loads(data)
    assert (refused.value.facts["path"], refused.value.facts["rule"]) == (path, rule)


@pytest.mark.parametrize("depth", [199, 200, 201])
def test_the_depth_limit_is_exact(depth):
    text = b"[" * depth + b"]" * depth
    if depth <= 200:
        assert json.dumps(strict_json.loads(text)).encode() == text
    else:
        with pytest.raises(Invalid):
            strict_json.loads(text)


def test_brackets_in_text_are_no_depth():
    assert strict_json.loads(json.dumps(["[" * 500 + '\\"{'])) == ["[" * 500 + '\\"{']


def test_what_is_at_the_limit_is_kept():
    assert strict_json.loads(b"[9007199254740991,-9007199254740991,1e308]") == [2**53 - 1, 1 - 2**53, 1e308]
    assert strict_json.loads(b'"\\u0000"', nul=True) == "\x00"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(json_values)
def test_any_json_value_comes_back_as_it_went(value):
    assert strict_json.loads(json.dumps(value)) == value
    strict_json.refuse_faults(value)


@pytest.mark.parametrize("value", [{1: 2}, [object()], [float("nan")], {"a": 2**53}, ["\ud800"], b"x"])
def test_values_made_elsewhere_are_checked_alike(value):
    with pytest.raises(Invalid):
        strict_json.refuse_faults(value)
