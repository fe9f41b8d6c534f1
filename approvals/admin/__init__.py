"""The approver's screens, the policy's rules, the API tokens and the accounts, in Django's plain admin."""

from approvals.admin import grants, people, queue, rules, site, tokens  # noqa: F401  # each registers its pages
