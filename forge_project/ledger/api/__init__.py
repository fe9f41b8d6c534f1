"""The ledger's endpoints: agents append and read the events of their own runtimes."""
