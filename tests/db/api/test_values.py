"""Any JSON value crosses guest, host, ledger and API and comes back unchanged, or is refused with its place."""

import json
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from executions.models import Call
from executions.services.sealed import unseal
from forge_project.kernel.canonical import text
from tests.db.api import get
from tests.db.executions import run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
KEYS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4))
SOURCE = """
const out = [];
for (const value of JSON.parse(VALUES)) {
  try { out.push({value: (await tools.tests.echo({value})).value}) }
  catch (e) { out.push({code: e.code, path: e.details.path}) }
}
return out
"""
NUMBERS = count()


def at(value, pointer):
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(VALUES, min_size=1, max_size=8))
@example(values=["\0", "\U0001f600\u2028\x7f", {"__proto__": 1, "constructor": {"toJSON": 2}}, 5e-324, -0.0, 1e300])
@example(values=[1e16, {"a/b~": [0, 1e20]}, [[]], {"": {"": []}}, 9007199254740993.0, 1e21])
def test_a_value_comes_back_or_is_refused_with_its_place(api, caller, runtime, values):
    sent = send(caller, f"v{next(NUMBERS)}", source=SOURCE.replace("VALUES", json.dumps(json.dumps(values))))
    run_all(runtime)
    told = get(api, f"/executions/{sent.ref}/").json()
    assert told["status"] == "succeeded", told
    calls = iter(Call.objects.filter(execution=sent).order_by("n"))
    for value, crossed in zip(values, told["result"], strict=True):
        if "code" in crossed:
            assert crossed["code"] == "TOOL_INPUT_INVALID"
            odd = at({"value": value}, crossed["path"])
            assert isinstance(odd, float)
            assert abs(odd) > 2**53 - 1
        else:
            call = next(calls)
            assert text(crossed["value"]) == text(value)
            assert text(unseal(call.sealed_input)) == text({"value": value})
            assert text(unseal(call.sealed_result)["value"]) == text({"value": value})
    assert next(calls, None) is None
