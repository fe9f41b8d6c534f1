"""Reviewers: programs, often models, that look at what policy wants looked at before a person is bothered.

A reviewer can refuse, can spare the person where the rule lets it, else it passes on. Failing never lets pass.
"""

from approvals.reviewers.brief import Brief, Case
from approvals.reviewers.panel import Ruling, Statement, configured, review
from approvals.reviewers.reviewer import BriefTooLong, Opinion, Reviewer, Stage

__all__ = [
    "Brief", "BriefTooLong", "Case", "Opinion", "Reviewer", "Ruling", "Stage", "Statement", "configured", "review",
]  # fmt: skip
