"""`manage.py metrics [--bind HOST:PORT]`: Prometheus' text format at /metrics. `serve` starts it too."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from executions.management.refusals import refusals
from executions.services.metrics.serve import serve
from executions.services.serving.listening import listen
from forge_project.kernel.log import out


class Command(BaseCommand):
    help = "Serves /metrics until Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        default = settings.FORGE_METRICS_BIND or "127.0.0.1:0"
        parser.add_argument("--bind", default=default, help="HOST:PORT (port 0: any free one) or fd://N")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            listener = listen(options["bind"])
        if not options["bind"].startswith("fd://"):
            self.stdout.write(f"forge: metrics {listener.url}/metrics")
            self.stdout.flush()
        out.serve()
        serve(listener.socket)
