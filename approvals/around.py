"""What stands around a question, asked of the app above; executions' AppConfig sets all of it, for eyes alone."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from approvals.models import Approval


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Of one execution: its task as the agent names it, where it stands, its calls and how many of them are done."""

    task: str = ""
    status: str = ""
    calls: int = 0
    done: int = 0


Surroundings = Callable[[Collection[str]], Mapping[str, Around]]
CameOf = Callable[[Approval], str]
InputOf = Callable[[Approval], Any]


def _nothing_known(refs: Collection[str]) -> Mapping[str, Around]:
    """Of no execution anything is known."""
    return {}


def _nothing_came(approval: Approval) -> str:
    """Nobody says."""
    return ""


def _no_input(approval: Approval) -> Any:
    """Nobody knows it."""
    return None


of: Surroundings = _nothing_known
"""By execution ref, what stands around the calls that were asked about."""

came_of: CameOf = _nothing_came
"""In one sentence, what became of the call that an approval was for; blank where nothing can be said."""

input_of: InputOf = _no_input
"""The whole input of the call, redacted, as JSON; None where it is not known."""
