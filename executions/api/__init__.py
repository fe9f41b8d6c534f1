"""The HTTP edge of executions: parse, call one service or selector, render."""
