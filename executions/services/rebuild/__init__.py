"""Executions, calls and approvals as their events tell them: rows are projections of the ledger.

What has no event is not rebuilt and stays as the row has it: what is sealed (source, inputs, results, preconditions,
session state), output and progress, an approval's preview, clocks and counters of effort (metrics, active_ms, crashes,
times_asked, due_at, expires_at), quarantine, attempts' process ids, workers. The request's own words (key, scope,
limits, purpose …) are in the ledger redacted only; they never change after the submit.
"""
