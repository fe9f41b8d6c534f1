"""People, agents and questions for the tests of approvals."""

import threading
from dataclasses import replace

from django.contrib.auth.models import Permission, User
from django.db import connections

from approvals.models import Agent
from approvals.policy import Verdict
from approvals.services import Ask, AskAgent, Consume, Decide, ask, ask_agent, decide
from approvals.services.grants import Proof
from approvals.states import Decision
from forge_project.kernel import clock
from forge_project.ledger import selectors as ledger
from forge_project.ledger.writing import writing
from tests.db.ledger import identity

REVIEW = Verdict(decision=Decision.REVIEW, rule="default", version=1, reason="")


def person(name, *permissions, **columns):
    user = User.objects.create_user(name, **columns)
    for codename in permissions or ["decide_approval", "view_approval"]:
        user.user_permissions.add(Permission.objects.get(codename=codename, content_type__app_label="approvals"))
    return user


def agent(name, owner):
    user = User.objects.create_user(name)
    Agent.objects.create(user=user, owner=owner)
    return user


def question(caller, name="exec-1", **changes):
    asked = Ask(
        execution_ref=name,
        call_id=f"{name}:forge:1",
        n=1,
        caller=caller,
        capability="file.write",
        effect="write",
        network=False,
        risk="medium",
        verdict=REVIEW,
        input={"path": "a.txt", "content": "one"},
        scope={"caller": "user:robot", "task": "t1"},
        precondition={"sha256": None},
        sentence="Write a.txt",
        preview={"kind": "text", "text": "+one"},
        reversible=True,
        target="a.txt",
        warnings=("new file",),
    )
    return replace(asked, **changes)


def page(name, caller):
    return writing(name, opening=identity(name, owner=f"user:{caller.username}"))


def pending(caller, name="exec-1", **changes):
    with page(name, caller) as held:
        return ask(held, question(caller, name, **changes))


def answer(approval, actor, decision="approve", **changes):
    asked = Decide(
        approval_ref=approval.ref,
        actor=actor,
        decision=decision,
        version=approval.version,
        fingerprint=approval.fingerprint,
        authenticated_at=clock.now(),
        method="session",
        reason="" if decision == "approve" else "too risky",
    )
    return decide(replace(asked, **changes))


def asked_about(approval, actor, text="Why now?", **changes):
    """The question that `actor` asks the agent."""
    proof = {"actor": actor, "authenticated_at": clock.now(), "method": "session", "session": "s", "address": "a"}
    return ask_agent(AskAgent(approval_ref=approval.ref, text=text, proof=Proof(**proof | changes)))


def use(approval, **changes):
    asked = Consume(
        approval_ref=approval.ref,
        execution_ref=approval.execution_ref,
        call_id=approval.call_id,
        capability="file.write",
        input={"path": "a.txt", "content": "one"},
        scope={"caller": "user:robot", "task": "t1"},
        precondition={"sha256": None},
    )
    return replace(asked, **changes)


def facts(name="exec-1"):
    """The approvals' facts of one invocation, in order."""
    told = [ledger.payload(event)["actions"]["forge"] for event in ledger.events(name)]
    return [said for said in told if said["fact"].startswith("approval.")]


def at_once(*jobs):
    """What each job returned or raised, all let go by one barrier."""
    barrier, ended = threading.Barrier(len(jobs)), [None] * len(jobs)

    def run(n, job):
        try:
            barrier.wait(20)
            ended[n] = job()
        except Exception as fault:
            ended[n] = fault
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a deadlock"
    return ended
