"""The network guard: where Forge itself may connect to. For webhooks, and for any capability that goes out."""
