"""What one look found."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Grade = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is well, questionable or wrong; `mend` says what to do about it."""

    part: str
    grade: Grade
    said: str
    mend: str = ""

    def json(self) -> dict[str, str]:
        """The finding as a JSON object."""
        return asdict(self)


Look = Callable[[], Iterable[Finding]]


def ok(part: str, said: str) -> Finding:
    """Nothing to do."""
    return Finding(part=part, grade="ok", said=said)


def warn(part: str, said: str, mend: str) -> Finding:
    """It works, but somebody should know."""
    return Finding(part=part, grade="warn", said=said, mend=mend)


def fail(part: str, said: str, mend: str) -> Finding:
    """Forge can't do its work like this."""
    return Finding(part=part, grade="fail", said=said, mend=mend)
