"""RFC 8785: the vectors of its appendix, and the fast path equal to the slow one."""

import pytest
import rfc8785
from hypothesis import given

from forge_project.kernel.canonical import canonical
from forge_project.kernel.errors import Invalid
from tests.unit.kernel.test_strict_json import json_values

VECTORS = [
    ({"b": 1, "a": [1.0, 0.5]}, b'{"a":[1,0.5],"b":1}'),
    (
        {
            "numbers": [333333333.33333329, 1e30, 4.5, 2e-3, 1e-27],
            "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
            "literals": [None, True, False],
        },
        b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        b'"string":"\xe2\x82\xac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    ),
    (
        {
            "\u20ac": "Euro Sign",
            "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh",
            "1": "One",
            "\U0001f600": "Emoji: Grinning Face",
            "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis",
        },
        '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",'
        '"\u20ac":"Euro Sign","\U0001f600":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'.encode(),
    ),
    ([-0.0, 1e21, 1e-7, 100.0], b"[0,1e+21,1e-7,100]"),
    ({"a": 1.0, "c": 1e-7}, canonical({"c": 0.0000001, "a": 1})),
]


@pytest.mark.parametrize(("value", "expected"), VECTORS, ids=range(len(VECTORS)))
def test_vectors(value, expected):
    assert canonical(value) == expected


@given(json_values)
def test_the_fast_path_writes_what_the_library_writes(value):
    assert canonical(value) == rfc8785.dumps(value)


@pytest.mark.parametrize(
    ("value", "path"),
    [({"a": [float("nan")]}, "/a/0"), ({"a": 2**60}, "/a"), (["\ud800"], "/0"), ({"x": object()}, "/x")],
)
def test_what_has_no_canonical_form_is_refused_with_its_path(value, path):
    with pytest.raises(Invalid) as refused:
        canonical(value)
    assert refused.value.facts["path"] == path
