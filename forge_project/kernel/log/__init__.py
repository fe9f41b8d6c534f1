"""The operator's log: JSON lines on stdout. It is for people and never part of what Forge decides."""
