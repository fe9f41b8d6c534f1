"""`manage.py approvals list|show|approve|deny|revoke`: a person at a terminal. Asks for that person's password first;
the same rules and the same warnings as on the screens, and no way to be somebody else."""

import getpass
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from approvals import around, eligibility, ports, questions, selectors, warnings
from approvals.models import Approval
from approvals.services import Decide, Revoke, decide, revoke
from approvals.states import LIVE, Risk, State
from executions.management import terminal
from executions.management.refusals import PROBLEM, refusals
from forge_project.kernel import clock
from forge_project.kernel.errors import Conflict, Denied, Invalid


class Command(BaseCommand):
    help = "Lists, shows, approves, denies or takes back requests for approval, as the person whose password is given."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        listed = verbs.add_parser("list", help="what waits for you; with --state, what you may see")
        listed.add_argument("--state", choices=[*State.values, "all"])
        listed.add_argument("--json", action="store_true")
        shown = verbs.add_parser("show", help="everything to decide on")
        shown.add_argument("--json", action="store_true")
        for verb in ("approve", "deny", "revoke"):
            parts = verbs.add_parser(verb, help=f"{verb} one request, after showing it")
            parts.add_argument("--reason", default="", help="asked for where it is needed and not given")
        for verb in ("show", "approve", "deny", "revoke"):
            verbs.choices[verb].add_argument("ref")
        for one in verbs.choices.values():
            one.add_argument("--user", help="asked for where it is not given")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            person = self._person(options["user"])
            match options["verb"]:
                case "list":
                    self._list(person, options["state"], options["json"])
                case "show":
                    self._show(_found(person, options["ref"]), options["json"])
                case "revoke":
                    self._revoke(person, _found(person, options["ref"]), options["reason"])
                case verb:
                    self._decide(person, _found(person, options["ref"]), verb, options["reason"])

    def _person(self, name: str | None) -> User:
        """Who gives the right password, now."""
        name = name or self._ask("User name: ")
        secret = getpass.getpass(f"Password of {name}: ") if sys.stdin.isatty() else self._ask("")
        found = authenticate(username=name, password=secret) if "\0" not in name else None
        if not isinstance(found, User) or eligibility.is_agent(found):
            raise Denied("this is not that person's password", rule="person.password")
        return found

    def _list(self, person: User, state: str | None, as_json: bool) -> None:
        rows = selectors.visible_to(person) if state else selectors.pending_for(person)
        rows = rows.filter(state=state) if state and state != "all" else rows
        if as_json:
            self.stdout.write(json.dumps([selectors.as_json(row) for row in rows]))
            return
        known = around.of(list(rows.values_list("execution_ref", flat=True)))
        for row in rows:
            task = known[row.execution_ref].task if row.execution_ref in known else ""
            for_task = f" for {task}" if task else ""
            self._say(f"{row.ref}  {row.risk:<8}  {row.state:<8}  {row.capability} {terminal.name(row.target)}"
                      f"  by {row.caller.get_username()}{for_task}, asked {clock.text(row.requested_at)}")  # fmt: skip
        if not rows:
            self._say("nothing waits for you" if not state else "nothing is there")

    def _show(self, row: Approval, as_json: bool) -> None:
        holds = ports.still_holds(row) if row.state in LIVE else None
        if as_json:
            self.stdout.write(json.dumps(selectors.as_json(row) | {"warned_of": warnings.of(row, holds)}))
            return
        for warning in warnings.of(row, holds):
            self._say(f"WARNING  {warning}")
        self._say(f"{row.ref}  {row.risk} risk, {row.state}, version {row.version}, ends {clock.text(row.expires_at)}")
        self._say(row.sentence)
        self._say(f"  {row.capability} {terminal.name(row.target)}"
                  f"{f' in workspace {row.workspace}' if row.workspace else ''}, "
                  f"{'can be undone' if row.reversible else 'CANNOT BE UNDONE'}")  # fmt: skip
        self._say("what will change:")
        for line in terminal.lines(_text(json.loads(row.preview))):
            self.stdout.write(f"  | {line}")
        self._say(f"asked by {row.caller.get_username()}, call {row.n} of {row.execution_ref}, "
                  f"at {clock.text(row.requested_at)}")  # fmt: skip
        self._say("the agent says, unchecked:")
        for line in terminal.lines(row.purpose or "(nothing)"):
            self.stdout.write(f"  > {line}")
        for one in questions.of(row):
            self._say(f"{one.asked_by.get_username()} asked the agent: {one.text}")
            for line in terminal.lines(one.answer or "(no answer yet)"):
                self.stdout.write(f"  > {line}")
        self._say(f"stopped by rule {row.rule} version {row.rule_version}; fingerprint {row.fingerprint}")
        world = {None: "cannot be looked at", True: "still as it was", False: "HAS CHANGED"}[holds]
        self._say(f"the world it was asked for: {world if row.state in LIVE else 'not looked at any more'}")
        if row.reason:
            self._say(f"reason of the last change: {row.reason}")

    def _decide(self, person: User, row: Approval, verb: Any, reason: str) -> None:
        self._show(row, False)
        to_type = terminal.name(row.target) or row.capability
        if verb == "approve" and row.risk == Risk.CRITICAL:
            if self._ask(f"Critical risk. Type the target, {to_type}, to approve: ") != to_type:
                raise Invalid("type the target exactly as it is shown", path="/typed")
        elif verb == "approve" and self._ask("Approve this once? Type yes: ") != "yes":
            raise CommandError("nothing was changed", returncode=PROBLEM)
        if verb == "deny" and not reason:
            reason = self._ask("Reason, the agent is told: ")
        asked = Decide(
            approval_ref=row.ref,
            actor=person,
            decision=verb,
            version=row.version,
            fingerprint=row.fingerprint,
            authenticated_at=clock.now(),
            method="password",
            reason=reason,
            typed_target=eligibility.to_type(row) if verb == "approve" else "",
            address="terminal",
            shown=questions.shown(row),
        )
        with _who_was_first():
            decided = decide(asked)
        self._say(f"{decided.ref} is {decided.state}")

    def _revoke(self, person: User, row: Approval, reason: str) -> None:
        asked = Revoke(approval_ref=row.ref, actor=person, reason=reason or self._ask("Reason: "))
        with _who_was_first():
            taken = revoke(asked)
        self._say(f"{taken.ref} is {taken.state}")

    def _say(self, text: str) -> None:
        self.stdout.write(terminal.line(text))

    def _ask(self, prompt: str) -> str:
        if prompt:
            sys.stderr.write(prompt)
            sys.stderr.flush()
        return sys.stdin.readline().rstrip("\n")


@contextmanager
def _who_was_first() -> Iterator[None]:
    """The loser's refusal, with who decided, when and why."""
    try:
        yield
    except Conflict as lost:
        if not (who := lost.facts.get("decided_by")):
            raise
        told = f"{lost.message}: by {who} at {lost.facts['decided_at']}: {lost.facts['reason']}"
        raise Conflict(terminal.line(told)) from None


def _found(person: User, ref: str) -> Approval:
    """As on the screens: with the permission all, else only one's own."""
    found = selectors.visible_to(person).filter(pk=ref).first() if "\0" not in ref else None
    return found or selectors.get("")


def _text(shown: Any) -> str:
    match shown:
        case {"kind": "diff" | "text", "text": str(text)}:
            return text
        case {"kind": "none"}:
            return "no content; the sentence is all of it"
        case _:
            return json.dumps(shown, indent=2, ensure_ascii=False)
