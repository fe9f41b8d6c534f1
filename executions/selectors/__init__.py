"""Reads of executions, calls, output and events."""
