"""The network guard: where Forge itself may connect to. The one way it sends HTTP."""
