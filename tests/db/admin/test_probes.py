"""Every way in that must not change anything: each refused with its reason, no row and no event the more."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from knox.models import AuthToken

from approvals.models import MAX_QUESTIONS, Approval, Question
from forge_project.kernel import clock
from forge_project.ledger.models import Event
from tests.db.admin import QUEUE, decide_url, page_of
from tests.db.approvals import asked_about, pending
from tests.people import person

pytestmark = pytest.mark.django_db

TOGETHER = f"{QUEUE}together/decide/"


def sent(row, **changes):
    return {"decision": "approve", "version": row.version, "fingerprint": row.fingerprint, "reason": "r"} | changes


def api(row, verb="decide"):
    return f"/api/v1/approvals/{row.ref}/{verb}/"


@pytest.fixture
def world(ann, olga, owen, robo, aude, staffed_agent, logged_in):
    """Who there is, what they may hold in hand, and one request of robo's."""
    row = pending(robo, warnings=())
    other = pending(robo, "exec-2", on_behalf_of=ann, warnings=())
    asked = pending(robo, "exec-3", warnings=())
    for n in range(MAX_QUESTIONS):
        asked_about(asked, person("bea", "approvers") if n == 0 else User.objects.get(username="bea"))
    tokens = {name: AuthToken.objects.create(user=user)[1] for name, user in
              {"robo": robo, "ann": ann, "olga": olga, "sneaky": staffed_agent}.items()}  # fmt: skip
    return {
        "row": row, "named": other, "asked": asked, "ann": logged_in(ann), "csrf": logged_in(ann, csrf=True),
        "olga": logged_in(olga),
        "owen": logged_in(owen), "aude": logged_in(aude), "sneaky": logged_in(staffed_agent), "nobody": Client(),
        "tokens": tokens,
    }  # fmt: skip


def token(world, name, method, url, body=None):
    header = {"HTTP_AUTHORIZATION": f"Token {world['tokens'][name]}"}
    return getattr(world["nobody"], method)(url, body, content_type="application/json", **header)


def overdue(world):
    Approval.objects.filter(pk=world["row"].pk).update(expires_at=clock.now() - timedelta(seconds=1))


def old(world):
    User.objects.filter(username="ann").update(last_login=clock.now() - timedelta(hours=13))


def ahead(world):
    User.objects.filter(username="ann").update(last_login=clock.now() + timedelta(hours=1))


def asleep(world):
    User.objects.filter(username="ann").update(is_active=False)


def ask(who, method="post", url=decide_url, before=None, **changes):
    """A probe: `who` sends the form's answer, changed, to `url`."""

    def go(world):
        if before:
            before(world)
        row = world["row"]
        where = url(row) if callable(url) else url
        data = sent(row, **changes)
        if method in ("get", "head"):
            return getattr(world[who], method)(where, data)
        if method == "post":
            return world[who].post(where, data)
        return getattr(world[who], method)(where)

    return go


def many(who, **changes):
    """A probe of the answer to several."""

    def go(world):
        row = world["row"]
        told = {"decision": "approve", "seen": f"{row.ref} {row.version} {row.fingerprint}", "reason": ""} | changes
        return world[who].post(TOGETHER, told)

    return go


def aside(who, verb, method="post", before=None, of="row", **changes):
    """A probe of a form beside the answer: `ask` a question, `revoke`."""

    def go(world):
        if before:
            before(world)
        return getattr(world[who], method)(f"{QUEUE}{world[of].ref}/{verb}/", {"text": "Why?", "reason": "r"} | changes)

    return go


def unread(world):
    """A probe: what the agent was asked about is approved as if nothing had been asked."""
    return world["ann"].post(decide_url(world["asked"]), sent(world["asked"]))


def told(name, of="asked", **changes):
    """A probe of the agent's answer, with this account's token."""
    return lambda world: token(world, name, "post", api(world[of], "answer"), {"n": 1, "text": "So."} | changes)


def by_token(name, method="post", verb="decide", **changes):
    def go(world):
        return token(world, name, method, api(world["row"], verb), sent(world["row"], **changes))

    return go


PROBES = {
    "GET decides": (ask("ann", "get"), {405}, ""),
    "HEAD decides": (ask("ann", "head"), {405}, ""),
    "OPTIONS decides": (ask("ann", "options"), {405}, ""),
    "PUT decides": (ask("ann", "put"), {405}, ""),
    "DELETE decides": (ask("ann", "delete"), {405}, ""),
    "GET the page with an answer in it": (ask("ann", "get", page_of), {200}, ""),
    "HEAD the page with an answer in it": (ask("ann", "head", page_of), {200}, ""),
    "OPTIONS the page": (ask("ann", "options", page_of), {405}, ""),
    "POST to the page": (ask("ann", url=page_of), {405}, ""),
    "GET the queue with an answer in it": (ask("ann", "get", QUEUE), {200, 302}, ""),
    "POST to the queue": (ask("ann", url=QUEUE), {405}, ""),
    "GET the answer to several": (ask("ann", "get", TOGETHER), {405}, ""),
    "OPTIONS the answer to several": (ask("ann", "options", TOGETHER), {405}, ""),
    "only a preview of several": (ask("ann", url=f"{QUEUE}together/"), {200}, "choose between"),
    "no CSRF token": (ask("csrf"), {403}, "CSRF"),
    "no CSRF token for several": (many("csrf"), {403}, "CSRF"),
    "nobody's session": (ask("nobody"), {302}, ""),
    "an operator who decides nothing": (ask("olga"), {403}, "needs the permission"),
    "an auditor": (ask("aude"), {403}, "needs the permission"),
    "an operator, several": (many("olga"), {403}, ""),
    "the agent's owner": (ask("owen"), {403}, "decides their own"),
    "the agent's owner, several": (many("owen"), {200}, "decides their own"),
    "the one it acts for": (ask("ann", url=lambda row: decide_url(Approval.objects.get(execution_ref="exec-2"))),
                            {403, 409}, "decides their own"),
    "an agent's account made staff": (ask("sneaky"), {302}, ""),
    "an old log-in": (ask("ann", before=old), {403}, "log in again"),
    "a log-in in the future": (ask("ann", before=ahead), {403}, "log in again"),
    "an account put to sleep": (ask("ann", before=asleep), {302, 403}, ""),
    "overdue": (ask("ann", before=overdue), {409}, "overdue"),
    "a wrong version": (ask("ann", version=2), {409}, "at version 1"),
    "a wrong fingerprint": (ask("ann", fingerprint="jcs1:x"), {409}, "not what you were shown"),
    "no fingerprint": (ask("ann", fingerprint=""), {400}, "open the page again"),
    "no word for it": (ask("ann", decision="allow"), {400}, "approve or deny"),
    "a denial without a reason": (ask("ann", decision="deny", reason=" "), {400}, "say why"),
    "a wrong version among several": (many("ann", seen="appr_0 1 jcs1:x"), {404, 409}, ""),
    "the agent's token": (by_token("robo"), {403, 404}, "SCOPE_DENIED"),
    "the token of a staffed agent": (by_token("sneaky"), {403, 404}, ""),
    "an operator's token": (by_token("olga"), {403}, "SCOPE_DENIED"),
    "a token with GET": (by_token("ann", "get"), {405}, ""),
    "a token, wrong version": (by_token("ann", version=7), {409}, "STATE_CONFLICT"),
    "the agent revokes": (lambda world: token(world, "robo", "post", api(world["row"], "revoke"), {"reason": "x"}),
                          {403}, "SCOPE_DENIED"),
    "GET asks": (aside("ann", "ask", "get"), {405}, ""),
    "HEAD asks": (aside("ann", "ask", "head"), {405}, ""),
    "PUT asks": (aside("ann", "ask", "put"), {405}, ""),
    "asks without CSRF": (aside("csrf", "ask"), {403}, "CSRF"),
    "nobody asks": (aside("nobody", "ask"), {302}, ""),
    "an operator asks": (aside("olga", "ask"), {403}, "needs the permission"),
    "an auditor asks": (aside("aude", "ask"), {403}, "needs the permission"),
    "the agent's owner asks": (aside("owen", "ask"), {403}, "decides their own"),
    "the one it acts for asks": (aside("ann", "ask", of="named"), {403}, "decides their own"),
    "a staffed agent asks": (aside("sneaky", "ask"), {302}, ""),
    "asks by an old log-in": (aside("ann", "ask", before=old), {403}, "log in again"),
    "asks when it is overdue": (aside("ann", "ask", before=overdue), {409}, "overdue"),
    "asks nothing": (aside("ann", "ask", text=" "), {400}, "not blank"),
    "asks too much": (aside("ann", "ask", text="x" * 501), {400}, "at most 500"),
    "asks U+0000": (aside("ann", "ask", text="a\0b"), {400}, "NUL"),
    "asks a sixth time": (aside("ann", "ask", of="asked"), {409}, "5 questions already"),
    "approves without the questions": (unread, {409}, "not what you were shown"),
    "another agent's answer": (told("sneaky"), {404}, "NOT_FOUND"),
    "an approver's answer": (told("ann"), {404}, "NOT_FOUND"),
    "an operator's answer": (told("olga"), {404}, "NOT_FOUND"),
    "an answer to nothing": (told("robo", of="row"), {404}, "NOT_FOUND"),
    "an answer to question 6": (told("robo", n=6), {400}, "INVALID_REQUEST"),
    "an answer to question true": (told("robo", n=True), {400}, "INVALID_REQUEST"),
    "an empty answer": (told("robo", text=" "), {400}, "INVALID_REQUEST"),
    "a long answer": (told("robo", text="x" * 2001), {400}, "INVALID_REQUEST"),
    "an answer with more": (told("robo", more=1), {400}, "INVALID_REQUEST"),
    "GET answers": (lambda world: token(world, "robo", "get", api(world["asked"], "answer")), {405}, ""),
    "GET revokes": (aside("ann", "revoke", "get"), {405}, ""),
    "HEAD revokes": (aside("ann", "revoke", "head"), {405}, ""),
    "DELETE revokes": (aside("ann", "revoke", "delete"), {405}, ""),
    "revokes without CSRF": (aside("csrf", "revoke"), {403}, "CSRF"),
    "nobody revokes": (aside("nobody", "revoke"), {302}, ""),
    "an operator revokes": (aside("olga", "revoke"), {403}, "needs the permission"),
    "an auditor revokes": (aside("aude", "revoke"), {403}, "needs the permission"),
    "a staffed agent revokes": (aside("sneaky", "revoke"), {302}, ""),
    "revokes without a reason": (aside("ann", "revoke", reason=" "), {400}, "say why"),
    "revokes for too long a reason": (aside("ann", "revoke", reason="x" * 2001), {400}, "at most 2000"),
    "no token at all": (lambda world: world["nobody"].post(api(world["row"]), sent(world["row"]), "application/json"),
                        {401}, "IDENTITY_INVALID"),
    "session on the API without CSRF": (
        lambda world: world["csrf"].post(api(world["row"]), sent(world["row"]), "application/json"), {403}, "CSRF"),
}  # fmt: skip


def test_there_are_thirty_of_them_and_more():
    assert len(PROBES) >= 30


@pytest.mark.parametrize("name", PROBES)
def test_nothing_changes_and_the_reason_is_said(world, name):
    probe, due, said = PROBES[name]
    before = list(Approval.objects.order_by("pk").values_list("pk", "state", "version", "decided_by"))
    talk = list(Question.objects.order_by("pk").values())
    events = Event.objects.count()
    answer = probe(world)
    assert answer.status_code in due, answer.content[:2000]
    assert said.lower() in answer.content.decode().lower().replace("&#x27;", "'")
    assert list(Approval.objects.order_by("pk").values_list("pk", "state", "version", "decided_by")) == before
    assert list(Question.objects.order_by("pk").values()) == talk
    assert Event.objects.count() == events


def test_the_same_answer_from_the_page_does_decide(world):
    assert world["ann"].post(decide_url(world["row"]), sent(world["row"])).status_code == 302
    assert Approval.objects.get(pk=world["row"].pk).state == "approved"
