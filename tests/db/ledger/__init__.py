"""The ledger on a real database."""

from forge_project.ledger.events import Identity


def identity(name: str, owner: str = "user:ada") -> Identity:
    return Identity(invocation_id=name, session_id="s", run_id="r", turn_id="t", owner=owner)
