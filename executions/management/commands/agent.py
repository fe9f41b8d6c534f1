"""`manage.py agent create|token|revoke`: programs' accounts."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from approvals.services import issue_token
from executions.management.refusals import refusals
from executions.services import accounts
from executions.services.accounts import CreateAgent
from forge_project.kernel import actors


class Command(BaseCommand):
    help = "Creates an agent's account, issues its API token, or ends it."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        create = verbs.add_parser("create", help="a new agent with its human owner")
        create.add_argument("name")
        create.add_argument("--owner", required=True, help="the person who answers for it")
        create.add_argument("--acts-for", nargs="*", default=[], metavar="USER", help="people it may act for")
        token = verbs.add_parser("token", help="a new API token, shown once")
        token.add_argument("name")
        token.add_argument("--days", type=int, default=90)
        revoke = verbs.add_parser("revoke", help="ends the account, its tokens and its live executions")
        revoke.add_argument("name")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            match options["verb"]:
                case "create":
                    asked = CreateAgent(name=options["name"], owner=options["owner"], acts_for=options["acts_for"])
                    made = accounts.create_agent(asked)
                    self.stdout.write(f"agent {made.user.username}, owned by {made.owner.username}")
                case "token":
                    user = accounts.agent(options["name"]).user
                    self.stdout.write(issue_token(user, options["days"], actor=actors.shell()))
                    sys.stderr.write(f"shown this once; it ends in {options['days']} days\n")
                case "revoke":
                    ended = accounts.revoke_agent(options["name"])
                    self.stdout.write(f"{options['name']} is revoked; {len(ended)} live executions cancelled")
                    for ref in ended:
                        self.stdout.write(f"  {ref}")
