from tests.db.api.conftest import *  # noqa: F403  # the caller, its workspace, the runtime, clients
