"""What `run` and `call` share: submit in an agent's name, then show what comes of it."""

import sys
from typing import Any
from uuid import uuid4

from django.core.management.base import CommandParser, OutputWrapper

from executions.management import terminal
from executions.management.refusals import refusals
from executions.models import Execution
from executions.services.accounts import agent
from executions.services.follow import Follow
from executions.services.submission import parse
from executions.services.submit import submit
from executions.states import Status


def add_arguments(parser: CommandParser) -> None:
    """Whose it is, where, under which key, and whether it is watched."""
    parser.add_argument("--caller", required=True, help="the agent it runs as")
    parser.add_argument("--workspace", default="")
    parser.add_argument("--key", help="idempotency key: the same key is the same execution (default: a new one)")
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--site", default="http://127.0.0.1:8000", help="where people reach the admin")


def send(body: dict[str, Any], prefix: str, options: dict[str, Any], out: OutputWrapper) -> None:
    """Submits, says the ref; with --follow shows the news and exits 1 unless it succeeds."""
    body = body | ({"workspace": options["workspace"]} if options["workspace"] else {})
    with refusals():
        caller = agent(options["caller"]).user
        ref = submit(parse(caller, options["key"] or f"{prefix}-{uuid4().hex}", body)).execution.ref
    out.write(ref)
    out.flush()
    if options["follow"] and not _follow(ref, options["site"], out):
        sys.exit(1)


def _follow(ref: str, site: str, out: OutputWrapper) -> bool:
    try:
        for line in Follow(ref, site).lines():
            out.write(terminal.line(line))
            out.flush()
    except KeyboardInterrupt:
        out.write(f"no longer followed, but it goes on: manage.py audit {ref}")
        return False
    row = Execution.objects.get(pk=ref)
    if row.status == Status.SUCCEEDED:
        out.write(terminal.line(f"result    {row.shown_result or '(no value)'}"))
        return True
    out.write(terminal.line(f"error     {row.error_code}: {row.error_message}"))
    return False
