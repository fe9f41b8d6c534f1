"""The HTTP server of `/metrics`."""

import socket
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from django.conf import settings
from prometheus_client import make_wsgi_app

from executions.services.metrics.collect import registry

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


class _Quiet(WSGIRequestHandler):
    timeout = 10  # of a client that says nothing

    def log_message(self, format: str, *args: object) -> None:
        """Scrapes are no news."""


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def serve(listening: socket.socket) -> None:
    """Answers scrapes on a socket that listens already, until the process ends."""
    latencies = settings.FORGE_VAR / "metrics"
    latencies.mkdir(mode=0o700, exist_ok=True)
    answer = make_wsgi_app(registry(str(latencies)))

    def app(environ: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/metrics" or environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            start("404 Not Found", [("Content-Type", "text/plain")])
            return [b"Not found\n"]
        told: Iterable[bytes] = answer(environ, start)
        return told

    host, port = listening.getsockname()[:2]
    server = _Server((host, port), _Quiet, bind_and_activate=False)
    server.socket.close()
    server.socket, server.server_name, server.server_port = listening, host, port
    server.setup_environ()
    server.set_app(app)
    server.serve_forever()
