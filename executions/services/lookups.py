"""What a script may ask of the catalog: the capabilities its caller may use, searched and described."""

import re
from collections.abc import Iterable
from typing import Any

from approvals.policy import judge_of
from approvals.states import Decision
from executions.capabilities.base import Capability
from executions.models import Execution
from executions.sandbox.shapes import Answer, Lookup
from executions.services import asking, catalog
from executions.services.shapes import Fault

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")  # searchText is found by "text"


def usable(execution: Execution) -> list[Capability]:
    """Every capability that no rule denies this execution outright, by name."""
    verdict = judge_of(asking.caller_name(execution))
    known = catalog.registry().all()
    return [one for one in known if verdict(asking.question(execution, one)).decision != Decision.DENY]


def answers(execution: Execution, asked: Iterable[Lookup]) -> tuple[Answer, ...]:
    """The catalog's answers as it is now; they are recorded with the next turn and replayed as they were."""
    lookups = list(asked)
    known = usable(execution) if lookups else []
    return tuple(_answer(lookup, known) for lookup in lookups)


def _answer(lookup: Lookup, known: list[Capability]) -> Answer:
    if lookup.op == "search":
        return Answer(
            lookup.request_id, entries=tuple(entry(one) for one in search(lookup.query, known)[: lookup.limit])
        )
    for one in known:
        if one.name == lookup.query:
            return Answer(lookup.request_id, entries=(entry(one),))
    return Answer(lookup.request_id, ok=False, error=Fault(code="TOOL_NOT_FOUND", message="no such capability").json())


def search(query: str, known: Iterable[Capability]) -> list[Capability]:
    """Those with most of the query's words first, a word in the name counting more; all, without a word."""
    words = _words(query)
    ranked = [(_score(words, one), one) for one in known]
    found = [(score, one) for score, one in ranked if score or not words]
    return [one for _, one in sorted(found, key=lambda hit: (-hit[0], hit[1].name))]


def entry(capability: Capability) -> dict[str, Any]:
    """A capability as a script sees it."""
    return {
        "name": capability.name,
        "summary": capability.summary,
        "effect": capability.effect.value,
        "input_schema": capability.input_schema,
    }


def _score(words: list[str], one: Capability) -> int:
    name, summary = _words(one.name), _words(one.summary)
    return sum(3 * _among(word, name) + _among(word, summary) for word in words)


def _among(word: str, there: list[str]) -> bool:
    return any(other.startswith(word) for other in there)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(_HUMP.sub(" ", text))]
