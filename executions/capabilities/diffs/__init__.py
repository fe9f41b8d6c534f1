"""Unified diffs: strict parsing and pure application; no file is touched here."""
