"""What a reviewer is, and what it says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from approvals.reviewers.brief import Brief
from forge_project.kernel.errors import TooLarge


class Stage(StrEnum):
    """Which come first: the quick ones."""

    FAST = "fast"
    REASON = "reason"


class Says(StrEnum):
    """What a reviewer may answer."""

    ALLOW = "ALLOW"
    DENY = "DENY"
    ESCALATE = "ESCALATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    """One answer, its reason in the reviewer's words, and which model gave it."""

    says: Says
    reason: str
    model: str = ""


class BriefTooLong(TooLarge):
    """The reviewer can't take so long a brief; it is given a shorter one, once."""


class Reviewer(Protocol):
    """Made without arguments, once a process; called from many threads, never inside a transaction."""

    stage: Stage

    def review(self, brief: Brief) -> Opinion:
        """The opinion; BriefTooLong asks for a shorter brief, anything else that is raised passes the question on."""
