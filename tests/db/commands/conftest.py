from tests.db.executions.conftest import (  # noqa: F401  # the machine's own fixtures
    _ledger_is_clean,
    approver,
    caller,
    folder,
    marker,
    runtime,
    workspace,
    zygotes,
)
