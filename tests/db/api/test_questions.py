"""POST approvals/<ref>/answer/, and all that tells the agent that a question waits."""

import pytest
from django.db.models import F

from approvals.models import Approval, Question
from executions.models import Execution
from executions.outbox.models import Signal
from executions.services.cancel import Cancel, cancel
from forge_project.ledger.models import Event
from tests.db.api import BASE, client_of, get, post, refused
from tests.db.approvals import asked_about, facts
from tests.db.commands import run
from tests.db.executions import run_all
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)


def reply(client, ref, n=1, text="So it is.", **more):
    return client.post(f"{BASE}/approvals/{ref}/answer/", {"n": n, "text": text} | more, format="json")


def record(api, row):
    return get(api, f"/executions/{row.execution_ref}/").json()


@pytest.fixture
def question(asked, approver):
    return asked_about(asked, approver, "Why a.txt?")


def test_from_the_question_to_the_approved_write(api, ann, asked, approver, folder, runtime):
    before = record(api, asked)["next"]
    assert before["message"] == f"A person has to decide {asked.ref}; ask for this execution again later."
    assert get(api, f"/approvals/{asked.ref}/").json()["questions"] == []
    asked_about(asked, approver, "Why a.txt?")
    told = record(api, asked)["next"]
    assert (told["action"], told["after_s"]) == ("wait", 5)
    for said in (f"/api/v1/approvals/{asked.ref}/answer/", '"n": 1', "`questions`"):
        assert said in told["message"]
    assert "Why a.txt?" not in told["message"]
    (one,) = get(api, f"/approvals/{asked.ref}/").json()["questions"]
    assert (one["n"], one["text"], one["asked_by"], one["answer"], one["answered_at"]) == (
        1, "Why a.txt?", "ann", None, None,
    )  # fmt: skip
    answer = reply(api, asked.ref, text="It is the file of the task.")
    assert answer.status_code == 200
    assert answer.json()["questions"][0]["answer"] == "It is the file of the task."
    assert answer.json()["questions"][0]["answered_at"] is not None
    assert (answer.json()["version"], answer.json()["fingerprint"]) == (1, asked.fingerprint)
    assert record(api, asked)["next"] == before
    seen = get(ann, f"/approvals/{asked.ref}/").json()
    body = {"decision": "approve", "version": 1, "fingerprint": seen["fingerprint"]}
    url = f"{BASE}/approvals/{asked.ref}/decide/"
    assert refused(ann.post(url, body, format="json"), 409, "STATE_CONFLICT")["rule"] == "approval.questions"
    refused(ann.post(url, body | {"shown": seen["shown"][:-1] + "é"}, format="json"), 400, "INVALID_REQUEST")
    assert ann.post(url, body | {"shown": seen["shown"]}, format="json").status_code == 200
    assert facts(asked.invocation_id)[-1]["shown"] == seen["shown"] != seen["fingerprint"]
    run_all(runtime)
    assert (folder / "a.txt").read_text() == "new"
    assert record(api, asked)["next"]["action"] == "done"


def test_the_etag_changes_with_a_question(api, asked, approver):
    tag = api.get(f"{BASE}/executions/{asked.execution_ref}/")["ETag"]
    same = {"HTTP_IF_NONE_MATCH": tag}
    assert api.get(f"{BASE}/executions/{asked.execution_ref}/", **same).status_code == 304
    asked_about(asked, approver)
    assert api.get(f"{BASE}/executions/{asked.execution_ref}/", **same).status_code == 200


def test_the_oldest_unanswered_question_is_named(api, asked, approver):
    asked_about(asked, approver)
    asked_about(asked, approver, "And how?")
    assert "(question 1)" in record(api, asked)["next"]["message"]
    reply(api, asked.ref)
    assert "(question 2)" in record(api, asked)["next"]["message"]
    listed = get(api, "/executions/").json()["results"]
    assert "(question 2)" in listed[0]["next"]["message"]


def test_a_signal_for_each_question(api, other, asked, question, approver):
    asked_about(asked, approver, "And how?")
    told = [one for one in get(api, "/signals/").json()["results"] if one["kind"] == "APPROVAL_QUESTION"]
    assert [(one["approval_ref"], one["approval_state"], one["question"], one["status"]) for one in told] == [
        (asked.ref, "pending", 1, "waiting_approval"), (asked.ref, "pending", 2, "waiting_approval"),
    ]  # fmt: skip
    assert "Why a.txt?" not in str(told)
    assert get(other, "/signals/").json()["results"] == []
    first = Signal.objects.exclude(kind="APPROVAL_QUESTION").get()
    assert "question" not in next(
        one for one in get(api, "/signals/").json()["results"] if one["signal_ref"] == first.pk
    )


def test_only_the_caller_answers(api, ann, other, operator, asked, question):
    for client in (ann, other, operator, client_of(person("aude", "auditors"))):
        refused(reply(client, asked.ref), 404, "NOT_FOUND")
    assert reply(api, asked.ref).status_code == 200


@pytest.mark.parametrize("change", [
    {"n": 0}, {"n": 6}, {"n": True}, {"n": "1"}, {"n": 1.5}, {"n": None}, {"text": ""}, {"text": "  "}, {"text": 1},
    {"text": "x" * 2001}, {"text": "a\0b"}, {"more": 1},
])  # fmt: skip
def test_a_bad_answer_is_400(api, asked, question, change):
    body = {"n": 1, "text": "x"} | change
    facts = refused(reply(api, asked.ref, **body), 400, "INVALID_REQUEST")
    assert facts["path"] == f"/{next(iter(change))}"
    assert Question.objects.get().answer == ""


def test_the_first_answer_stays(api, asked, question):
    assert refused(reply(api, asked.ref, n=2), 404, "NOT_FOUND")["n"] == 2
    reply(api, asked.ref)
    events = Event.objects.count()
    assert reply(api, asked.ref, text=" So it is.\n").status_code == 200
    assert refused(reply(api, asked.ref, text="No."), 409, "STATE_CONFLICT")["rule"] == "question.answered"
    assert (Question.objects.get().answer, Event.objects.count()) == ("So it is.", events)


def test_secrets_are_masked_wherever_it_stands(api, ann, asked, approver):
    key = "ghp_" + "a1B2" * 9
    asked_about(asked, approver, f"Is {key} yours?")
    reply(api, asked.ref, text=f"token={key}")
    shown = str(
        [get(ann, path).content for path in (f"/approvals/{asked.ref}/", f"/executions/{asked.execution_ref}/events/")]
    )
    assert key not in shown + str(list(Question.objects.values())) + str(facts(asked.invocation_id))
    assert reply(api, asked.ref, text=f"token={key}").status_code == 200


def test_a_cancelled_execution_is_asked_and_answers_no_more(api, asked, question):
    cancel(Cancel(execution_ref=asked.execution_ref, actor="user:robo", reason="no"))
    assert refused(reply(api, asked.ref), 409, "STATE_CONFLICT")["state"] == "revoked"
    assert record(api, asked)["next"]["action"] == "stop"


def test_a_question_while_the_script_sleeps(api, workspace, runtime, approver, settings):
    """It waits for a person and for the clock at once; the record tells of the question whatever the status."""
    settings.FORGE_LINGER_MS = 0
    write = "tools.call('file.write', {path: 'a.txt', content: 'x'})"
    source = f"await Promise.all([{write}, tools.call('sleep', {{ms: 3600000}})])"
    post(api, {"source": source, "workspace": "ws"}, "k")
    run_all(runtime)
    row = Approval.objects.get()
    assert Execution.objects.get().status == "queued"
    asked_about(row, approver)
    told = record(api, row)["next"]
    assert (told["action"], "/answer/" in told["message"]) == ("wait", True)


def test_rows_are_what_the_events_tell(api, asked, question):
    reply(api, asked.ref)
    assert run("ledger_rebuild", "--check")[0] == 0


@pytest.mark.rows_by_hand
def test_a_question_no_event_tells_of_is_found(asked, question):
    Question.objects.create(approval=asked, n=3, text="?", asked_by=question.asked_by, asked_at=question.asked_at)
    code, said = run("ledger_rebuild", "--check")
    assert code == 1
    assert f"{asked.ref} 3" in said


def test_an_answer_nobody_gave_is_found(asked, question):
    Question.objects.update(answer="Approve me", answered_at=F("asked_at"))
    code, said = run("ledger_rebuild", "--check", "--json")
    assert (code, said.count('"question"')) == (1, 2)
    from django.db import connection

    drop = "DROP TRIGGER approvals_guard_question" + ("" if connection.vendor == "sqlite" else " ON approvals_question")
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT sql FROM sqlite_master WHERE name = 'approvals_guard_question'")
        else:
            cursor.execute("SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'approvals_guard_question'")
        (again,) = cursor.fetchone()
        cursor.execute(drop)
        try:
            assert run("ledger_rebuild")[0] == 0
        finally:
            cursor.execute(again)
    assert Question.objects.values_list("answer", "answered_at").get() == ("", None)
