"""The approver's screens, the policy's rules and the API tokens, in Django's plain admin."""

from approvals.admin import grants, queue, rules, site, tokens  # noqa: F401  # each registers its pages
