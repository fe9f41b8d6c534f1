"""The reviewers in order, and which of their answers count."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils.module_loading import import_string

from approvals.reviewers.brief import LIMIT, SHORT, Brief, Case
from approvals.reviewers.reviewer import BriefTooLong, Opinion, Reviewer, Says, Stage
from approvals.reviewers.suspicion import suspicious

log = logging.getLogger("forge.reviewers")
MAX_REASON = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What one reviewer said, what it came to (`counted`), and of which brief."""

    reviewer: str
    stage: Stage
    said: Says
    counted: Says
    reason: str
    model: str
    brief_digest: str
    whole: bool
    took_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What the panel comes to, by the last statement."""

    says: Says
    statements: tuple[Statement, ...]


def configured() -> tuple[Reviewer, ...]:
    """FORGE_REVIEWERS, the fast ones first, else in their order. Raises ImproperlyConfigured."""
    return _loaded(tuple(settings.FORGE_REVIEWERS))


def review(case: Case) -> Ruling:
    """Asks one after the other until one refuses, or allows where that counts; else a person must look."""
    if connection.in_atomic_block:
        raise AssertionError("reviewers are asked outside every transaction")
    statements: list[Statement] = []
    for reviewer in configured():
        statements.append(_ask(reviewer, case))
        if statements[-1].counted != Says.ESCALATE:
            break
    return Ruling(says=statements[-1].counted if statements else Says.ESCALATE, statements=tuple(statements))


@cache
def _loaded(paths: Sequence[str]) -> tuple[Reviewer, ...]:
    try:
        made: list[Reviewer] = [import_string(path)() for path in paths]
        return tuple(sorted(made, key=lambda one: list(Stage).index(Stage(one.stage))))
    except (ImportError, AttributeError, ValueError, TypeError) as fault:
        raise ImproperlyConfigured(f"FORGE_REVIEWERS: {fault}") from None


def _ask(reviewer: Reviewer, case: Case) -> Statement:
    started = time.monotonic()
    brief = case.brief(LIMIT)
    try:
        try:
            opinion = reviewer.review(brief)
        except BriefTooLong:
            brief = case.brief(SHORT)
            opinion = reviewer.review(brief)
        says = Says(opinion.says)
    except Exception as fault:  # whatever a reviewer raises, a person looks
        log.warning("reviewer %s failed: %s", type(reviewer).__name__, type(fault).__name__)
        says, opinion = Says.ESCALATE, Opinion(says=Says.ESCALATE, reason=f"it failed: {type(fault).__name__}")
    return Statement(
        reviewer=f"{type(reviewer).__module__}.{type(reviewer).__qualname__}",
        stage=Stage(reviewer.stage),
        said=says,
        counted=says if says != Says.ALLOW or _may_allow(case, brief) else Says.ESCALATE,
        reason=opinion.reason[:MAX_REASON],
        model=opinion.model[:MAX_REASON],
        brief_digest=settings.FORGE_FINGERPRINTS.of({"brief": brief.text}),
        whole=brief.whole,
        took_ms=round((time.monotonic() - started) * 1000),
    )


def _may_allow(case: Case, brief: Brief) -> bool:
    """Only where the rule says so, on the whole input, and where nothing in it hides or speaks to its reader."""
    told = (case.given, case.change, case.purpose, case.target)
    return case.may_allow and brief.whole and not case.warned and not suspicious(*told)
