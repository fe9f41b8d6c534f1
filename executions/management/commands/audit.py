"""`manage.py audit REF [--json]`: the whole story of one execution; exit 1 if its chain is broken."""

import json
import sys
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management import terminal
from executions.management.refusals import refusals
from executions.services import timeline
from executions.services.audit import audit


class Command(BaseCommand):
    help = "Tells the whole story of one execution: request, calls, who decided, every event with its hash."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("ref")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            story = audit(options["ref"])
        if options["json"]:
            self.stdout.write(json.dumps(story))
        else:
            for line in _lines(story):
                self.stdout.write(terminal.line(line))
        if story["verify"]["findings"]:
            sys.exit(1)


def _lines(story: dict[str, Any]) -> Iterator[str]:
    yield from _head(story["execution"])
    for one in story["attempts"]:
        worker = one["worker"]
        yield f"attempt {one['number']}  {one['started_at']}  on {worker['host']}:{worker['pid']}  {one['ending']}"
    for call in story["calls"]:
        yield from _call(call)
    yield "events"
    for event in story["events"]:
        yield f"  {timeline.line(event)}"
        yield f"      {event['hash']}"
    checked = story["verify"]
    for finding in checked["findings"]:
        yield f"BROKEN at seq {finding['seq']}: {finding['problem']} {finding['detail']}".rstrip()
    if not checked["findings"]:
        yield f"chain verified: {checked['events']} events"


def _head(row: dict[str, Any]) -> Iterator[str]:
    yield f"{row['ref']}  {row['status']}, effect {row['side_effect']}"
    behalf = f" on behalf of {row['on_behalf_of']}" if row["on_behalf_of"] else ""
    yield f"  asked by {row['caller_ref']}{behalf} at {row['created_at']}: {row['capability']}"
    yield f"  workspace {row['workspace'] or '-'}, key {row['idempotency_key']}, purpose {row['purpose'] or '-'}"
    yield f"  request {row['input_fingerprint']}"
    if row["cancel_requested_at"]:
        yield f"  cancel asked by {row['cancel_requested_by']}: {row['cancel_reason']}"
    if row["error_code"]:
        yield f"  {row['error_code']}: {row['error_message']}"
    if "result" in row:
        yield f"  result {_json(row['result'])}"


def _call(call: dict[str, Any]) -> Iterator[str]:
    ended = f"{call['status']}, effect {call['side_effect']} {call['error_code']}"
    yield f"call {call['n']}  {call['tool']}  {ended}".rstrip()
    yield f"  input  {_json(call['input'])}"
    if "result" in call:
        yield f"  result {_json(call['result'])}"
    for asked in call["approvals"]:
        who = f" by {asked['decided_by']} at {asked['decided_at'] or asked['ended_at']}" if asked["decided_by"] else ""
        why = f": {asked['reason']}" if asked["reason"] else ""
        yield f"  {asked['approval_ref']}  {asked['state']}{who}{why}"
        yield f"    asked {asked['requested_at']} by rule {asked['rule']} v{asked['rule_version']}: {asked['sentence']}"


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:400]}… ({len(text)} characters; --json has all)"
