"""Conditions of rules and grants, in CEL: what can't be bounded is refused on saving, the rest is asked within bounds.

The library can't be interrupted, so an evaluation is kept short beforehand (its text, its lists, the work it may be)
and one that took longer than the deadline all the same counts as a failure.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import cel

from approvals.errors import Unasked
from forge_project.kernel.errors import Invalid

MAX_TEXT = 1000  # characters of a condition
MAX_LIST = 1000  # entries of a list or map it may look at
MAX_PATTERN = 200
MAX_MACROS = 4
MAX_WORK = 256 * 1024 * 1024  # entries x mentions² x longest text in bytes: 1 MiB of text takes 0.06 ms a look
DEADLINE_SECONDS = 0.05
MACROS = frozenset({"all", "exists", "exists_one"})  # those with a yes or no; map and filter copy their lists
FUNCTIONS = MACROS | {"has", "size", "startsWith", "endsWith", "contains", "matches", "string", "int", "double"}
ROOTS = frozenset({"input", "target"})
_WORDS = ROOTS | {"true", "false", "null", "in"}
_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<text>r?"(?:[^"\\\n]|\\.)*"|r?'(?:[^'\\\n]|\\.)*')|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<number>\d+(?:\.\d+)?)|(?P<sign>&&|\|\||[<>=!]=|[-+*/%<>!?:.,()\[\]{}])""",
    re.ASCII,
)
Token = tuple[str, str]  # kind, text


def check(text: str) -> None:
    """Raises Invalid (path /condition) for a condition that does not parse, can't be bounded, or never changes."""
    if len(text) > MAX_TEXT:
        raise _fault(f"a condition is at most {MAX_TEXT} characters")
    tokens = _tokens(text)
    _check_words(tokens)
    try:
        cel.compile(text)
    except Exception as fault:  # whatever the parser raises, the author is told
        raise _fault(f"this is no CEL expression: {str(fault).splitlines()[0][:200]}") from None
    if not mentioned(text):
        raise _fault("a condition looks at input or target: this one says the same of every call")


def mentioned(text: str) -> frozenset[tuple[str, ...]]:
    """What a condition looks at: ("input", "url"), ("target", "host") …; the name alone where no field follows."""
    found = set()
    tokens = _tokens(text)
    for at, (kind, name) in enumerate(tokens):
        if kind == "name" and name in ROOTS and _sign(tokens, at - 1) != ".":
            field = tokens[at + 2 : at + 3] if _sign(tokens, at + 1) == "." else []
            found.add((name, *(word for _, word in field)))
    return frozenset(found)


class Subject:
    """One call as conditions see it: its input, and its target as its capability normalises it.

    `look` evaluates, outside any transaction; `said` tells what was found, and never evaluates.
    """

    def __init__(self, given: Callable[[], Any], target: Callable[[], Mapping[str, Any]]) -> None:
        self._input, self._target = given, target
        self._variables: dict[str, Any] | None = None
        self._said: dict[str, bool | None] = {}

    def look(self, texts: Iterable[str]) -> None:
        """Asks each condition that was not asked yet."""
        for text in texts:
            if text not in self._said:
                self._said[text] = holds(text, self.variables())

    def said(self, text: str) -> bool | None:
        """True or False; None: it failed. Unasked where nobody looked."""
        if text not in self._said:
            raise Unasked(partial(self.look, [text]))
        return self._said[text]

    def take_aim(self) -> None:
        """Looks where the call goes, for `aimed`."""
        self.variables()

    def aimed(self) -> Mapping[str, Any]:
        """The target as `take_aim` found it, empty where there is none. Unasked where nobody looked."""
        if self._variables is None:
            raise Unasked(self.take_aim)
        aimed: Mapping[str, Any] = self._variables.get("target", {})
        return aimed

    def variables(self) -> dict[str, Any]:
        """`input`, and `target` where the capability can name one."""
        if self._variables is None:
            self._variables = {"input": self._input()}
            with suppress(Exception):  # of an input nobody has checked yet: a condition on it fails
                self._variables["target"] = dict(self._target())
        return self._variables


def holds(text: str, variables: Mapping[str, Any]) -> bool | None:
    """Whether the condition holds; None where it fails: a missing field, a wrong type, too much work, too late."""
    started = time.thread_time()  # of this thread: a busy machine is no reason to judge otherwise
    try:
        program, mentions, macros = _compiled(text)
        largest, longest = _measure(variables)
        if largest > MAX_LIST or (largest if macros else 1) * mentions * mentions * longest > MAX_WORK:
            return None
        said = program.execute(dict(variables))
    except Exception:  # the library raises KeyError, TypeError, RuntimeError, ValueError …
        return None
    if time.thread_time() - started > DEADLINE_SECONDS or not isinstance(said, bool):
        return None
    return said


@lru_cache(maxsize=1024)
def _compiled(text: str) -> tuple[cel.Program, int, bool]:
    """The program of a condition that `check` let through, its mentions of variables, and whether it loops."""
    tokens = _tokens(text)
    names = [word for kind, word in tokens if kind == "name"]
    mentions = sum(
        kind == "name" and word not in FUNCTIONS and _sign(tokens, at - 1) != "."
        for at, (kind, word) in enumerate(tokens)
    )
    return cel.compile(text), mentions, not MACROS.isdisjoint(names)


def _measure(variables: Mapping[str, Any]) -> tuple[int, int]:
    """The most entries of any list or map, and the most bytes of any text."""
    largest = longest = 1
    todo: list[Any] = list(variables.values())
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            longest = max(longest, len(value) * (1 if value.isascii() else 4))
        elif isinstance(value, dict | list):
            largest = max(largest, len(value))
            todo.extend(value.values() if isinstance(value, dict) else value)
    return largest, longest


def _tokens(text: str) -> list[Token]:
    """Only the spelling we know: what we read otherwise than the library does would slip past the checks."""
    return list(_split(text))


def _split(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _fault(f"a condition can't have this: {text[at : at + 20]!r}")
        at, kind = found.end(), str(found.lastgroup)
        if kind == "text" and text[at : at + 1] in ('"', "'"):
            raise _fault("a text stands in one pair of quotes")
        if kind in ("name", "number") and re.match(r"[\w\"']", text[at : at + 1]):
            raise _fault(f"a condition can't have this: {text[at - 1 : at + 20]!r}")
        if kind != "space":
            yield kind, found.group()


def _check_words(tokens: list[Token]) -> None:
    """Refuses unknown names and functions, loops in loops, and patterns that are not written out."""
    bound = {word for at, (_, word) in enumerate(tokens) if at > 1 and tokens[at - 2][1] in MACROS}
    loops: list[int] = []
    depth = 0
    macros = [word for kind, word in tokens if kind == "name" and word in MACROS]
    if len(macros) > MAX_MACROS:
        raise _fault(f"a condition has at most {MAX_MACROS} of {', '.join(sorted(MACROS))}")
    for at, (kind, word) in enumerate(tokens):
        called, field = _sign(tokens, at + 1) == "(", _sign(tokens, at - 1) == "."
        if kind == "sign" and word in "([{":
            depth += 1
        elif kind == "sign" and word in ")]}":
            depth -= 1
            loops = [begun for begun in loops if begun < depth + 1]
        elif kind == "name" and called:
            if word not in FUNCTIONS:
                raise _fault(f"there is no function {word}; there are {', '.join(sorted(FUNCTIONS))}")
            if word in MACROS and loops:
                raise _fault("one of all, exists, exists_one can't stand in another")
            if word in MACROS and not (tokens[at - 2 : at - 1] and tokens[at - 2][0] == "name" and field):
                raise _fault(f"{word} goes over a field, such as input.argv.{word}(a, …)")
            if word == "matches":
                _check_pattern(tokens, at, bool(loops))
            loops += [depth + 1] if word in MACROS else []
        elif kind == "name" and not field and word not in _WORDS | bound:
            raise _fault(f"there is no {word[:40]}: a condition sees input and target")


def _check_pattern(tokens: list[Token], at: int, in_loop: bool) -> None:
    kind, pattern = tokens[at + 2] if len(tokens) > at + 3 else ("", "")
    if in_loop or kind != "text" or len(pattern) > MAX_PATTERN or _sign(tokens, at + 3) != ")":
        raise _fault(f"matches takes one written-out pattern of at most {MAX_PATTERN} characters, in no loop")
    try:
        cel.compile(f'"".matches({pattern})').execute({})
    except Exception:
        raise _fault("the pattern of matches is no regular expression") from None


def _sign(tokens: list[Token], at: int) -> str:
    return tokens[at][1] if 0 <= at < len(tokens) and tokens[at][0] == "sign" else ""


def _fault(message: str) -> Invalid:
    return Invalid(message, path="/condition", rule="policy.condition")
