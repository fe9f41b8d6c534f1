"""Gunicorn's configuration for `serve` (`gunicorn -c python:executions.services.serving.web`)."""

import ctypes
import os
import shutil
import signal
from typing import Any

from django.conf import settings

worker_class = "gthread"
workers = 1
threads = 32  # long polls hold one each, at most half of them
graceful_timeout = 5
keepalive = 5
loglevel = "warning"
control_socket_disable = True
worker_tmp_dir = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108  # a heartbeat file of gunicorn's

# Read when prometheus_client is imported, which is in the workers; each keeps its latencies in a file here.
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "forge_project.settings")
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(settings.FORGE_VAR / "metrics")

_PR_SET_PDEATHSIG = 1


def on_starting(server: Any) -> None:
    """The figures begin anew with the web."""
    shutil.rmtree(settings.FORGE_VAR / "metrics", ignore_errors=True)
    (settings.FORGE_VAR / "metrics").mkdir(mode=0o700, parents=True, exist_ok=True)


def post_fork(server: Any, worker: Any) -> None:
    """The web's worker dies with its master, whatever request it holds."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != worker.ppid:
        os._exit(0)
