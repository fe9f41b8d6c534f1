"""Who plays: an agent, the person who owns it, another who approves; and the workspace the agent may use."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from approvals.services import issue_token
from executions.services import accounts, workspaces
from executions.services.accounts import AddPerson, CreateAgent
from executions.services.workspaces import AddWorkspace, Grant
from forge_project.kernel import actors

OWNER, APPROVER, AGENT, WORKSPACE = "demo-owner", "demo-approver", "demo-agent", "demo-project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The secrets of this one demo."""

    password: str  # the approver's, for the admin
    agent_token: str
    approver_token: str


def engage(project: Path) -> Cast:
    """Makes the accounts, with fresh secrets, and grants the workspace."""
    actor = actors.shell()
    password = secrets.token_urlsafe(12)
    accounts.add_person(AddPerson(name=OWNER, password=secrets.token_urlsafe(24)))
    approver = accounts.add_person(AddPerson(name=APPROVER, password=password, roles=("approvers",)))
    agent = accounts.create_agent(CreateAgent(name=AGENT, owner=OWNER))
    workspaces.add_workspace(AddWorkspace(name=WORKSPACE, path=str(project)))
    workspaces.grant(Grant(workspace=WORKSPACE, agent=AGENT))
    return Cast(
        password=password,
        agent_token=issue_token(agent.user, 1, actor=actor),
        approver_token=issue_token(approver, 1, actor=actor),
    )
