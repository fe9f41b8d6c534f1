"""Ask the agent, and take back, on the decision page."""

import html
import re

import pytest

from approvals import questions, selectors
from approvals.models import Question
from approvals.services import Answer
from approvals.services import answer as reply
from tests.db.admin import QUEUE, answer, page_of, state
from tests.db.approvals import answer as decided
from tests.db.approvals import asked_about, facts, pending
from tests.people import person

pytestmark = pytest.mark.django_db
FOLD = '<details class="forge-fold"'


def shown(client, row):
    return client.get(page_of(row)).content.decode()


def send(client, row, verb, **said):
    return client.post(f"{QUEUE}{row.ref}/{verb}/", said)


def replied(row, text="Because the text says so.", n=1):
    return reply(Answer(approval_ref=row.ref, actor=row.caller, n=n, text=text))


def test_asked_from_the_page_and_the_answer_stands_there(logged_in, ann, asked):
    client = logged_in(ann, csrf=True)
    token = re.search(r'action="[^"]+/ask/".*?csrfmiddlewaretoken" value="(\w+)"', shown(client, asked), re.DOTALL)[1]
    sent = send(client, asked, "ask", text="Why this\r\nfile?", csrfmiddlewaretoken=token)
    assert (sent.status_code, sent["Location"], state(asked)) == (302, page_of(asked), ("pending", 1))
    told = shown(client, asked)
    for said in ("The agent is asked.", "ann asked the agent at", "Why this\nfile?", "No answer yet.",
                 "The agent was asked 1 question and has answered 0."):  # fmt: skip
        assert said in told
    assert facts()[-1]["session"].startswith("jcs1:")
    replied(asked)
    told = shown(client, asked)
    for said in ("Because the text says so.", "in its own words (Forge has not checked them), at", "answered 1."):
        assert said in told
    assert "text: Because the text says so." in told  # in the history, beside its hash
    assert "No answer yet" not in told


def test_a_refused_question_stays_in_its_open_fold(logged_in, ann, asked):
    sent = send(logged_in(ann), asked, "ask", text="why " * 200)
    told = sent.content.decode()
    assert (sent.status_code, Question.objects.count()) == (400, 0)
    assert f"{FOLD} open><summary>Ask the agent" in told
    assert "why why" in told
    assert f"{FOLD}><summary>Take the request back" in told


def test_the_answers_page_is_what_is_approved(logged_in, ann, asked):
    client = logged_in(ann)
    asked_about(asked, ann)
    unanswered = re.search(r'name="shown" value="([^"]+)" form="forge-decide"', shown(client, asked))[1]
    replied(asked)
    sent = answer(client, asked, shown=unanswered, reason="typed")
    assert (sent.status_code, state(asked)) == (409, ("pending", 1))
    for said in ("is not what you were shown", "Because the text says so.", "typed</textarea>"):
        assert said in sent.content.decode()
    similar = send(client, asked, "similar", version=1, fingerprint=asked.fingerprint, uses=1, lasts="1h",
                   condition="true", shown=unanswered)  # fmt: skip
    assert (similar.status_code, state(asked)) in ((400, ("pending", 1)), (409, ("pending", 1)))
    seen = re.findall(r'name="shown" value="([^"]+)" form="(forge-\w+)"', shown(client, asked))
    now = questions.shown(selectors.get(asked.ref))
    assert seen == [(now, "forge-decide"), (now, "forge-similar")]
    assert answer(client, asked, shown=now).status_code == 302
    assert (state(asked), facts()[-1]["shown"]) == (("approved", 2), now)
    assert answer(client, pending(asked.caller, "exec-2"), shown="\0").status_code == 400


def test_what_the_agent_answers_hides_nothing(logged_in, ann, asked):
    asked_about(asked, ann, "Is \u202ethis safe?")
    replied(asked, "It is\u202e s\u0430fe\u200b<script>alert(1)</script>" + " " * 200 + "not")
    told = html.unescape(shown(logged_in(ann), asked))
    assert not set("\u202e\u200b\u0430") & set(told)
    assert "It is\\u{202E} s\\u{0430}fe\\u{200B}" in told
    assert "<script>alert" not in shown(logged_in(ann), asked)
    for said in ("The agent's answer to question 1: hidden characters, shown as code points: U+200B, U+202E",
                 "The agent's answer to question 1: characters that look like others: U+0430",
                 "The agent's answer to question 1: long runs of blanks"):  # fmt: skip
        assert said in told


def test_who_only_looks_sees_what_was_said_and_has_no_form(logged_in, everyone, owen, asked):
    asked_about(asked, everyone["approver"])
    for user in (everyone["operator"], everyone["auditor"], owen):
        told = shown(logged_in(user), asked)
        assert "Why now?" in told
        assert "Ask the agent" not in told
        assert ("Take the request back" in told) == (user == owen)  # as the API lets whoever may decide


def test_after_five_there_is_no_form(logged_in, ann, asked):
    for n in range(5):
        assert "Ask the agent" in shown(logged_in(ann), asked)
        asked_about(asked, ann, f"Number {n}?")
    told = shown(logged_in(ann), asked)
    assert "Ask the agent" not in told
    assert [told.index(f"Number {n}?") for n in range(5)] == sorted(told.index(f"Number {n}?") for n in range(5))


def test_after_the_decision_it_stands_and_nobody_asks(logged_in, ann, asked):
    asked_about(asked, ann)
    decided(asked, ann, "deny")
    told = shown(logged_in(ann), asked)
    assert "It was never answered." in told
    assert "Ask the agent" not in told
    assert send(logged_in(ann), asked, "ask", text="And?").status_code == 409
    assert Question.objects.count() == 1


@pytest.mark.parametrize("first", ["", "approve"])
def test_revoked_from_the_page(logged_in, ann, asked, first):
    client = logged_in(person("bea", "approvers"))
    if first:
        decided(asked, ann)
    word = "Revoke this approval" if first else "Take the request back"
    assert f"{FOLD}><summary>{word}</summary>" in shown(client, asked)
    sent = send(client, asked, "revoke", reason=" ")
    assert (sent.status_code, state(asked)[0]) == (400, "approved" if first else "pending")
    assert f"{FOLD} open><summary>{word}</summary>" in sent.content.decode()
    sent = send(client, asked, "revoke", reason="second\r\nthoughts")
    assert (sent.status_code, state(asked)) == (302, ("revoked", 3 if first else 2))
    told = shown(client, asked)
    for said in ("It is taken back and can&#x27;t be used.", "Taken back", "by bea", "second\nthoughts"):
        assert said in told
    assert (facts()[-1]["actor"], facts()[-1]["reason"]) == ("user:bea", "second\nthoughts")
    assert word not in told
    assert send(client, asked, "revoke", reason="again").status_code == 409


def test_only_what_can_be_revoked_has_the_button(logged_in, everyone, asked):
    decided(asked, everyone["approver"])
    for name, user in everyone.items():
        assert ("Revoke this approval" in shown(logged_in(user), asked)) == (name == "approver")


@pytest.mark.parametrize("ref", ["appr_0", "%00", "x" * 500])
def test_of_what_is_not_there_nothing_is_asked_or_revoked(logged_in, ann, ref):
    for verb in ("ask", "revoke"):
        assert logged_in(ann).post(f"{QUEUE}{ref}/{verb}/", {"text": "x", "reason": "x"}).status_code == 404
