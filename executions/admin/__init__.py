"""What runs and what ran, to look at and to cancel; the workspaces and agents, kept by operators."""

from executions.admin import agents, calls, executions, workers, workspaces  # noqa: F401  # each registers its pages
