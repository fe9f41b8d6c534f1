"""The page on which an operator says what became of an unknown effect."""

import pytest
from django.contrib.auth.models import Group

from executions.models import Call, Execution
from tests.db.executions.conftest import _ledger_is_clean, approver, caller, marker, runtime, unknown, zygotes  # noqa: F401
from tests.people import person

pytestmark = pytest.mark.django_db(transaction=True)
SAID = {"observed": "applied", "reason": "I looked", "evidence": "one\r\n\r\n two ", "result": '{"line": "x"}'}


@pytest.fixture
def call(unknown):  # noqa: F811
    return Call.objects.get(execution=unknown())


def page(call):
    return f"/admin/executions/call/{call.pk}/resolve/"


def test_it_shows_what_is_known_and_takes_the_answer(logged_in, olga, call):
    client = logged_in(olga)
    assert page(call) in client.get(f"/admin/executions/call/{call.pk}/change/").content.decode()
    seen = client.get(page(call)).content.decode()
    assert all(said in seen for said in ("tests.marker", call.operation_id, "nobody can tell", "It happened"))
    assert Execution.objects.get().status == "unknown"
    answer = client.post(page(call), SAID, follow=True)
    assert answer.redirect_chain == [(f"/admin/executions/execution/{call.execution_id}/change/", 302)]
    assert "it is succeeded now" in answer.content.decode()
    call.refresh_from_db()
    assert (call.status, call.evidence[-1]["said"], call.evidence[-1]["actor"]) == (
        "resolved",
        ["one", "two"],
        "user:olga",
    )
    after = client.get(page(call)).content.decode()
    assert ("This call is not unknown" in after, '<form method="post" action="/admin/exec' in after) == (True, False)
    assert client.post(page(call), SAID).status_code == 409


@pytest.mark.parametrize(
    ("wrong", "status"),
    [({"reason": ""}, 400), ({"evidence": " "}, 400), ({"observed": ""}, 400), ({"result": "{"}, 400),
     ({"result": '{"line": 1}'}, 400), ({"reason": "a\0b"}, 400)],
)  # fmt: skip
def test_a_refusal_is_told_on_the_page_and_changes_nothing(logged_in, olga, call, wrong, status):
    answer = logged_in(olga).post(page(call), SAID | wrong)
    assert (answer.status_code, Execution.objects.get().status) == (status, "unknown")
    told = answer.content.decode()
    assert "Nothing was changed by your answer" in told
    assert ("I looked" in told) == ("reason" not in wrong)  # what was typed is kept


def test_operators_only(logged_in, olga, approver, aude, call):  # noqa: F811
    sneaky = person("sneaky2", "operators")
    from approvals.models import Agent

    Agent.objects.create(user=sneaky, owner=approver)
    client = logged_in(sneaky)  # the admin lets no agent in
    assert {client.get(page(call)).status_code, client.post(page(call), SAID).status_code} == {302}
    for user in (approver, aude):
        client = logged_in(user)
        assert {client.get(page(call)).status_code, client.post(page(call), SAID).status_code} == {403}
        assert page(call) not in client.get(f"/admin/executions/call/{call.pk}/change/").content.decode()
    assert logged_in(olga, csrf=True).post(page(call), SAID).status_code == 403  # without the form's token
    assert logged_in(olga).put(page(call)).status_code == 405
    assert logged_in(olga).get("/admin/executions/call/999999/resolve/").status_code == 404
    assert logged_in(olga).get(f"/admin/executions/call/{10**30}/resolve/").status_code == 404
    assert (Execution.objects.get().status, Group.objects.count()) == ("unknown", 4)
