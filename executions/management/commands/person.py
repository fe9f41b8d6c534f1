"""`manage.py person add|token`: people's accounts. Passwords come from the terminal, or the first line of stdin."""

import getpass
import sys
from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser

from approvals.services import issue_token
from executions.management.refusals import refusals
from executions.services import accounts
from executions.services.accounts import ROLES, AddPerson
from forge_project.kernel import actors
from forge_project.kernel.errors import Denied


class Command(BaseCommand):
    help = "Adds a person with roles, or issues a person's own API token for their password."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="a new person")
        add.add_argument("name")
        add.add_argument("--role", action="append", default=[], choices=ROLES)
        token = verbs.add_parser("token", help="that person's API token, shown once; asks for their password")
        token.add_argument("name")
        token.add_argument("--days", type=int, default=1)

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            password = _password(options["name"])
            if options["verb"] == "add":
                made = accounts.add_person(AddPerson(name=options["name"], password=password, roles=options["role"]))
                self.stdout.write(f"{made.username}: {', '.join(options['role']) or 'no role'}")
                return
            found = authenticate(username=options["name"], password=password)
            if not isinstance(found, User):
                raise Denied("this is not that person's password", rule="person.password")
            user = accounts.person(found.username)
            self.stdout.write(issue_token(user, options["days"], actor=actors.of(user)))
            sys.stderr.write(f"shown this once; it ends in {options['days']} days\n")


def _password(name: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"Password of {name}: ")
    return sys.stdin.readline().rstrip("\n")
