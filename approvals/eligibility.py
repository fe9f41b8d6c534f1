"""Who may answer an approval, and how freshly they must have proved who they are."""

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User

from approvals.models import Agent, Approval
from approvals.states import Method, Risk
from forge_project.kernel import clock, hot
from forge_project.kernel.errors import Denied

FRESH = timedelta(hours=12)
FRESH_CRITICAL = timedelta(minutes=5)
AHEAD = timedelta(minutes=1)  # hosts' clocks may differ by this much; a log-in further in the future proves nothing


def is_agent(user: User) -> bool:
    """Whether this is a program's account."""
    return hot.exists(Agent, {"user_id": user.pk})


def check_person(actor: User) -> None:
    """Raises Denied unless `actor`, freshly read, is an active person who may decide approvals."""
    if not actor.is_active:
        raise Denied("this account is not active", rule="approval.inactive")
    if is_agent(actor):
        raise Denied("an agent's account decides nothing", rule="approval.agent")
    if not actor.has_perm("approvals.decide_approval"):
        raise Denied("this needs the permission to decide approvals", rule="approval.permission")


def check_not_own(actor: User, approval: Approval) -> None:
    """Raises Denied to the caller, its owner, and the person it acts for: nobody approves their own."""
    owned = hot.exists(Agent, {"user_id": approval.caller_id, "owner_id": actor.pk})
    if owned or actor.pk in {approval.caller_id, approval.on_behalf_of_id}:
        raise Denied("nobody decides their own requests", rule="approval.self")


def check_group(actor: User, approvers: str) -> None:
    """Raises Denied to who is not in the group that the rule names, if it names one."""
    if approvers and not actor.groups.filter(name=approvers).exists():
        raise Denied("this is for another group to decide", rule="approval.group", group=approvers)


def check_may_vote(actor: User, approval: Approval) -> None:
    """Raises Denied unless this person, freshly read, may answer this question at all."""
    check_person(actor)
    check_not_own(actor, approval)
    check_group(actor, approval.approvers)


def may_vote(actor: User, approval: Approval) -> bool:
    """As `check_may_vote`, as an answer."""
    try:
        check_may_vote(actor, approval)
    except Denied:
        return False
    return True


def to_type(approval: Approval) -> str:
    """What is typed again before something critical is approved."""
    return approval.target or approval.capability


def check_typed(approval: Approval, typed: str) -> None:
    """Raises Denied unless the target of a critical request was typed, as it is shown."""
    if approval.risk == Risk.CRITICAL and typed != to_type(approval):
        raise Denied("type the target, as it is shown, to approve this", rule="approval.typed_target")


def check_fresh(approval: Approval, method: Method, authenticated_at: datetime) -> None:
    """Raises Denied unless the log-in is recent, and for critical risk a password just given."""
    critical = approval.risk == Risk.CRITICAL
    if method == Method.TOKEN and (critical or not settings.FORGE_API_DECISIONS):
        raise Denied("tokens do not decide this", rule="approval.token")
    if critical and method != Method.PASSWORD:
        raise _stale(FRESH_CRITICAL)
    check_logged_in(authenticated_at, FRESH_CRITICAL if critical else FRESH)


def check_logged_in(authenticated_at: datetime, within: timedelta = FRESH) -> None:
    """Raises Denied unless the log-in is not older than that."""
    if not -AHEAD <= clock.now() - authenticated_at <= within:
        raise _stale(within)


def _stale(within: timedelta) -> Denied:
    return Denied("log in again to decide this", rule="approval.stale_login", within_s=int(within.total_seconds()))
