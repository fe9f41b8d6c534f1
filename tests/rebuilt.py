"""Online == rebuilt: after any scenario the rows are what the events tell."""

from executions.services.rebuild.compare import differences, loads, told_of


def found():
    return [*differences(told_of()), *loads()]
