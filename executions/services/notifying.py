"""Mail in a thread of its own: however slow a mail server is, claims and the sweep don't wait for it."""

import logging
import threading

from django.conf import settings
from django.db import Error as DatabaseFault

from approvals.services.notices import remind_due, send_due
from executions.services.runtime import release_connections

log = logging.getLogger("forge.worker")


class Notifying:
    """Reminds and sends, once a sweep, until it is stopped."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="forge-notices", daemon=True)

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self) -> None:
        """Nothing more is sent after this."""
        self._stopped.set()
        self._thread.join(settings.FORGE_SWEEP_SECONDS + 2)  # a mail server that hangs holds nobody up

    def _run(self) -> None:
        while not self._stopped.wait(settings.FORGE_SWEEP_SECONDS):
            try:
                remind_due()
                send_due()
            except DatabaseFault as error:
                log.warning("notices failed, will be tried again: %s", type(error).__name__)
            except Exception as error:
                log.error("notices failed, will be tried again", exc_info=error)
            finally:
                release_connections()
