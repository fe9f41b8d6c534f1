"""`manage.py workspace add|grant|revoke|list`: the directories agents may work in."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management.refusals import refusals
from executions.services import workspaces
from executions.services.workspaces import AddWorkspace, Grant
from executions.states import Access


class Command(BaseCommand):
    help = "Registers workspaces and says which agents may use them."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="registers an existing directory")
        add.add_argument("name")
        add.add_argument("path")
        add.add_argument("--host", action="append", default=[], metavar="ID", help="a FORGE_HOST_ID that serves it")
        grant = verbs.add_parser("grant", help="lets an agent use it")
        grant.add_argument("name")
        grant.add_argument("agent")
        grant.add_argument("--read", action="store_true", help="reads only")
        revoke = verbs.add_parser("revoke", help="takes that away")
        revoke.add_argument("name")
        revoke.add_argument("agent")
        verbs.add_parser("list", help="all of them").add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        with refusals():
            match options["verb"]:
                case "add":
                    asked = AddWorkspace(name=options["name"], path=options["path"], hosts=options["host"])
                    made = workspaces.add_workspace(asked)
                    self.stdout.write(f"workspace {made.name}: {made.path} on {', '.join(made.hosts)}")
                case "grant":
                    mode = Access.READ if options["read"] else Access.WRITE
                    workspaces.grant(Grant(workspace=options["name"], agent=options["agent"], mode=mode))
                    self.stdout.write(f"{options['agent']} may {mode} in {options['name']}")
                case "revoke":
                    workspaces.revoke(options["name"], options["agent"])
                    self.stdout.write(f"{options['agent']} may no longer use {options['name']}")
                case "list":
                    self._list(as_json=options["json"])

    def _list(self, *, as_json: bool) -> None:
        rows = workspaces.listed()
        if as_json:
            self.stdout.write(json.dumps(rows))
            return
        for row in rows:
            access = row["access"] or "nobody"
            told = ", ".join(f"{who} ({mode})" for who, mode in access.items()) if isinstance(access, dict) else access
            self.stdout.write(f"{row['name']}\t{row['path']}\t{told}")
