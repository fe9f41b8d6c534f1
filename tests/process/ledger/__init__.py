"""The ledger under several real processes."""
