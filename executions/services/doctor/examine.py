"""Every look, in the order in which faults explain each other."""

from collections.abc import Iterator

from executions.services.doctor import host, services
from executions.services.doctor.findings import Finding, Look, fail

HOST: tuple[Look, ...] = (
    host.python,
    host.account,
    host.configuration,
    host.storage,
    host.engine,
    host.search,
    services.broker,
)
STORED: tuple[Look, ...] = (
    services.time,
    services.checkpoints,
    services.workers,
    services.workspaces,
    services.holding,
    services.people,
)
COUNT = len(HOST) + 1 + len(STORED)


def examine() -> Iterator[list[Finding]]:
    """One look's findings at a time; what is stored is looked at only in a database that is ready."""
    for look in HOST:
        yield _looked(look)
    found = _looked(services.database)
    yield found
    if all(one.grade == "ok" for one in found):
        for look in STORED:
            yield _looked(look)


def _looked(look: Look) -> list[Finding]:
    """A look that breaks is a finding of its own: the others still tell what they see."""
    try:
        return list(look())
    except Exception as error:
        return [fail(look.__name__, f"this could not be looked at: {error}", "report it with this line")]
