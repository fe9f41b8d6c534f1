"""What runs and what ran, to look at and to cancel; the workspaces and agents, kept by operators."""

from executions.admin import (  # noqa: F401  # each registers its pages
    agents,
    calls,
    executions,
    holds,
    signals,
    webhooks,
    workers,
    workspaces,
)
