"""Accounts: people with their roles, agents with their owners, tokens shown once, and the end of an agent."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth import password_validation
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from knox.models import AuthToken

from approvals.eligibility import is_agent
from approvals.models import Agent, Approval
from approvals.services import end_grants, revoke_in, revoke_tokens
from approvals.states import LIVE as LIVE_APPROVALS
from executions.models import Execution
from executions.services.cancel import Cancel, cancel
from executions.states import LIVE
from forge_project.kernel import actors
from forge_project.kernel.errors import Conflict, Invalid, Missing
from forge_project.ledger.governance import governing, record
from forge_project.ledger.writing import writing

ROLES = ("approvers", "operators", "auditors")
_VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{1,150}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateAgent:
    """A program's account, whose human `owner` answers for it; it may act for `acts_for`."""

    name: str
    owner: str
    acts_for: Sequence[str] = ()
    actor: str = field(default_factory=actors.shell)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPerson:
    """A person's account with some of ROLES; staff, so that the admin lets them in."""

    name: str
    password: str
    roles: Sequence[str] = ()
    actor: str = field(default_factory=actors.shell)


def create_agent(asked: CreateAgent) -> Agent:
    """The new agent; its account has no password. Raises Invalid, Missing, Conflict."""
    if not _VISIBLE_ASCII.fullmatch(asked.name):  # it becomes part of ids in the ledger
        raise Invalid("an agent's name is 1-150 visible ASCII characters", path="/name")
    with governing():
        owner = person(asked.owner)
        acts_for = [person(name) for name in asked.acts_for]
        user = _new_user(asked.name)
        user.groups.set(Group.objects.filter(name="agents"))
        agent = Agent.objects.create(user=user, owner=owner)
        agent.acts_for.set(acts_for)
        people = sorted(user.username for user in acts_for)
        record("agent.created", actor=asked.actor, name=user.username, owner=owner.username, acts_for=people)
    return agent


def add_person(asked: AddPerson) -> User:
    """The new person. Raises Invalid (the name, the password, a role), Conflict."""
    if unknown := sorted(set(asked.roles) - set(ROLES)):
        raise Invalid(f"no such role: {unknown[0]}; there are {', '.join(ROLES)}", path="/roles")
    try:
        password_validation.validate_password(asked.password, User(username=asked.name))
    except ValidationError as fault:
        raise Invalid(" ".join(fault.messages), path="/password") from None
    with governing():
        user = _new_user(asked.name, password=asked.password, staff=True)
        user.groups.set(Group.objects.filter(name__in=asked.roles))
        record("person.added", actor=asked.actor, name=user.username, roles=sorted(set(asked.roles)))
    return user


def revoke_agent(name: str, *, actor: str = "") -> list[str]:
    """Ends an agent: account, tokens, live executions (their refs), approvals, grants. Raises Missing. Repeatable."""
    user, actor = agent(name).user, actor or actors.shell()
    with governing():  # first, so that nothing new is accepted while the rest is cancelled
        if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
            record("agent.revoked", actor=actor, name=name)
        revoke_tokens(AuthToken.objects.filter(user=user), actor=actor)
    live = Execution.objects.filter(caller=user, status__in=LIVE, cancel_requested_at=None).order_by("created_at")
    cancelled = []
    for ref in list(live.values_list("pk", flat=True)):
        try:
            cancel(Cancel(execution_ref=ref, actor=actor, reason="the agent was revoked"))
        except Conflict:  # it finished by itself
            continue
        cancelled.append(ref)
    _void_approvals(user)
    end_grants(user, "the agent was revoked", actor=actor)  # last: without a question that waits none is made any more
    return cancelled


def _void_approvals(user: User) -> None:
    """Nothing it asked may be decided or used any more, whatever still runs."""
    asked = Approval.objects.filter(caller=user, state__in=LIVE_APPROVALS)
    for ref, where in list(asked.values_list("pk", "invocation_id")):
        with writing(where) as page:
            revoke_in(page, ref, "the agent was revoked")


def agent(name: str) -> Agent:
    """The agent of this name; raises Missing."""
    found = Agent.objects.select_related("user", "owner").filter(user__username=name).first()
    if found is None:
        raise Missing(f"no such agent: {name}", path="/name")
    return found


def person(name: str) -> User:
    """The active person of this name; raises Missing, or Invalid for an agent's account."""
    found = User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise Missing(f"no such person: {name}", path="/owner")
    if is_agent(found):
        raise Invalid(f"{name} is an agent, not a person", path="/owner")
    return found


def _new_user(name: str, *, password: str | None = None, staff: bool = False) -> User:
    user = User(username=name, is_staff=staff)
    user.set_password(password)  # None: no password is ever right
    try:
        user.clean_fields()
        with transaction.atomic():
            user.save(force_insert=True)
    except ValidationError as fault:
        raise Invalid(" ".join(fault.messages), path="/name") from None
    except IntegrityError:
        raise Conflict(f"there is an account {name} already", path="/name") from None
    return user
