"""The API's description, held against what is answered."""

import json
from functools import cache

from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

DESCRIPTION = json.loads(json.dumps(SchemaGenerator().get_schema(public=True), default=str))


@cache
def _validator(schema):
    return Draft202012Validator(json.loads(schema) | {"components": DESCRIPTION["components"]})


def check(verb, template, answer):
    """No 5xx; a status, a media type and a body that the description has."""
    assert answer.status_code < 500, (template, answer.content[:500])
    responses = DESCRIPTION["paths"]["/api/v1" + template][verb]["responses"]
    assert str(answer.status_code) in responses, (template, answer.status_code, answer.content[:500])
    content = responses[str(answer.status_code)].get("content", {})
    kind = answer["Content-Type"].partition(";")[0] if answer.content else ""
    assert kind in content or not content, (template, kind)
    if kind.endswith("json"):
        valid = _validator(json.dumps(content[kind]["schema"]))
        faults = [fault.message for fault in valid.iter_errors(answer.json())]
        assert faults == [], (template, faults)
    return answer
