"""`manage.py workspace add|set|grant|revoke|list`: the directories agents may work in."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from executions.management.refusals import refusals
from executions.services import workspaces
from executions.services.workspaces import AddWorkspace, ChangeWorkspace, Grant
from executions.states import Access, Isolation


class Command(BaseCommand):
    help = "Registers workspaces and says which agents may use them."

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        add = verbs.add_parser("add", help="registers an existing directory")
        add.add_argument("name")
        add.add_argument("path")
        add.add_argument("--host", action="append", default=[], metavar="ID", help="a FORGE_HOST_ID that serves it")
        change = verbs.add_parser("set", help="changes what it lets pass")
        change.add_argument("name")
        for one, unsaid in ((add, Isolation.SHARED.value), (change, None)):
            one.add_argument("--isolation", choices=Isolation.values, default=unsaid)
            one.add_argument(
                "--network-hosts", nargs="*", default=None if unsaid is None else [], metavar="HOST[:PORT]",
                help="what its calls may read without a person: the whole list; none after it: no host",
            )  # fmt: skip
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
                    says: Any = {name: options[name] for name in ("name", "path", "isolation", "network_hosts")}
                    made = workspaces.add_workspace(AddWorkspace(hosts=options["host"], **says))
                    self.stdout.write(f"workspace {made.name}: {made.path} on {', '.join(made.hosts)}")
                case "set":
                    says = {name: options[name] for name in ("name", "isolation", "network_hosts")}
                    now = workspaces.change_workspace(ChangeWorkspace(**says))
                    self.stdout.write(f"workspace {now.name}: {now.isolation}, {_reads(now.network_hosts)}")
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
            reads = _reads(row["network_hosts"])
            self.stdout.write(f"{row['name']}\t{row['path']}\t{row['isolation']}\t{reads}\t{told}")


def _reads(hosts: Any) -> str:
    return f"reads {', '.join(hosts)}" if hosts else "reads no host"
