"""`agent create|token|revoke`."""

import threading

import pytest
from django.contrib.auth.models import User
from django.db import connections
from knox.models import AuthToken

from approvals.models import Agent, Approval
from approvals.services import MakeGrant, make_grant
from approvals.services.grants import Proof
from executions.models import Execution
from executions.services.accounts import revoke_agent
from forge_project.kernel.clock import now
from forge_project.kernel.errors import Conflict
from forge_project.ledger import selectors as ledger
from forge_project.ledger.governance import GOVERNANCE
from tests.db.commands import run
from tests.db.executions import answer, run_all, run_one, send
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def test_create_makes_an_account_without_a_password(db):
    person("olga")
    person("pat")
    assert run("agent", "create", "helper", "--owner", "olga", "--acts-for", "pat") == (
        0,
        "agent helper, owned by olga\n",
    )
    made = Agent.objects.get(user__username="helper")
    assert [user.username for user in made.acts_for.all()] == ["pat"]
    assert not made.user.has_usable_password()
    assert not made.user.is_staff
    assert list(made.user.groups.values_list("name", flat=True)) == ["agents"]


@pytest.mark.parametrize(
    ("name", "owner", "code", "told"),
    [
        ("helper", "nobody", 2, "no such person: nobody"),
        ("helper", "robo", 2, "robo is an agent, not a person"),
        ("a b", "owen", 2, "visible ASCII"),
        ("owen", "owen", 1, "there is an account owen already"),
    ],
)
def test_create_refuses(caller, name, owner, code, told):
    before = User.objects.count()
    ended, said = run("agent", "create", name, "--owner", owner)
    assert (ended, told in said) == (code, True)
    assert User.objects.count() == before


def test_the_token_is_shown_once_and_kept_as_a_digest(caller):
    code, token = run("agent", "token", "robo", "--days", "3")
    assert code == 0
    assert token.startswith("forge_")
    row = AuthToken.objects.get(user=caller)
    assert token.strip() not in str(row.__dict__)
    assert (row.expiry - row.created).days in (2, 3)


@pytest.mark.parametrize(
    ("args", "told"),
    [(("nobody",), "no such agent"), (("robo", "--days", "0"), "1 to 365 days"), (("owen",), "no such agent")],
)
def test_token_refuses(caller, args, told):
    code, said = run("agent", "token", *args)
    assert (code, told in said, AuthToken.objects.count()) == (2, True, 0)


def test_revoke_ends_the_account_its_tokens_and_its_work(caller):
    first, second = send(caller, "a", source="return 1"), send(caller, "b", source="return 2")
    run("agent", "token", "robo")
    code, said = run("agent", "revoke", "robo")
    assert code == 0
    assert first.ref in said
    assert second.ref in said
    caller.refresh_from_db()
    assert (caller.is_active, AuthToken.objects.count()) == (False, 0)
    assert set(Execution.objects.values_list("status", flat=True)) == {"cancelled"}
    assert run("agent", "revoke", "robo") == (0, "robo is revoked; 0 live executions cancelled\n")
    assert run("agent", "token", "robo") == (2, "robo is not active")


def test_revoke_needs_an_agent(db):
    assert run("agent", "revoke", "nobody") == (2, "no such agent: nobody")


def granted(asked, approver):
    seen = {"approval_ref": asked.ref, "version": asked.version, "fingerprint": asked.fingerprint}
    says = {"condition": 'input.path == "a"', "uses": 9, "lasts": "8h"}
    return make_grant(MakeGrant(**seen, **says, proof=Proof(actor=approver, authenticated_at=now(), method="session")))


def test_a_revoked_agents_standing_grants_end_for_good(caller, workspace, folder, runtime, approver, settings):
    settings.FORGE_LINGER_MS = 0
    body = {"capability": "file.write", "input": {"path": "a", "content": "x"}, "workspace": "ws"}
    send(caller, **body)
    run_all(runtime)
    made = granted(Approval.objects.get(), approver)
    run_all(runtime)
    assert Execution.objects.get().status == "succeeded"
    assert run("agent", "revoke", "robo")[0] == 0
    made.refresh_from_db()
    assert (made.ended_at is not None, made.end_reason, made.uses) == (True, "the agent was revoked", 1)
    told = [ledger.payload(event)["actions"]["forge"] for event in ledger.events(GOVERNANCE)]
    assert [(said["ref"], said["actor"][:3]) for said in told if said["fact"] == "grant.revoked"] == [(made.pk, "os:")]
    User.objects.filter(pk=caller.pk).update(is_active=True)  # let in again, it is asked about as at first
    (folder / "a").unlink()
    again = send(caller, "k2", **body)
    run_all(runtime)
    assert Execution.objects.get(pk=again.ref).status == "waiting_approval"
    assert revoke_agent("robo") == [again.ref]
    assert len([said for said in ledger.events(GOVERNANCE) if said.kind == "grant.revoked"]) == 1


def test_a_revoked_agents_question_is_void_at_once_though_it_runs(caller, workspace, runtime, approver, settings):
    settings.FORGE_LINGER_MS = 60_000
    body = {"capability": "file.write", "input": {"path": "a", "content": "x"}, "workspace": "ws"}
    sent = send(caller, **body)

    def drive():
        run_one(runtime)
        connections.close_all()

    running = threading.Thread(target=drive)
    running.start()
    while not Approval.objects.exists():
        pass
    asked = Approval.objects.get()
    assert revoke_agent("robo") == [sent.ref]
    assert Approval.objects.get().state == "revoked"
    with pytest.raises(Conflict):
        answer(asked, approver)
    running.join(10)
    assert Execution.objects.get(pk=sent.ref).status == "cancelled"
