"""What the machine does: one verb a file. Edges (API, tasks, admin, commands) call these and nothing below."""
