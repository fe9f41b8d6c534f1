"""Several requests answered at once: what may go together, a preview that changes nothing, a result a row."""

import re

import pytest

from approvals import around, ports
from approvals.services.together import MOST_APPROVED
from tests.db.admin import QUEUE, answer, page_of, state
from tests.db.approvals import facts, pending
from tests.people import person

pytestmark = pytest.mark.django_db

SHOW, TAKE = f"{QUEUE}together/", f"{QUEUE}together/decide/"


def some(robo, count=3, **changes):
    return [pending(robo, f"exec-{n}", **{"warnings": (), "input": {"n": n}, **changes}) for n in range(count)]


def chosen(rows, decision="approve"):
    return {"decision": decision, "chosen": [row.ref for row in rows]}


def seen(rows, decision="approve", reason=""):
    told = [f"{row.ref} {row.version} {row.fingerprint}" for row in rows]
    return {"decision": decision, "seen": told, "reason": reason}


def told(answer, status=200):
    assert answer.status_code == status
    return answer.content.decode()


def test_the_preview_shows_each_and_changes_nothing(logged_in, ann, robo):
    rows = some(robo)
    shown = told(logged_in(ann).post(SHOW, chosen(rows)))
    assert [state(row) for row in rows] == [("pending", 1)] * 3
    for row in rows:
        assert f'value="{row.ref} 1 {row.fingerprint}"' in shown
        assert page_of(row) in shown
    assert shown.count(">+one<") == 3
    assert "Approve each of 3 once" in shown


def test_each_is_approved_by_itself_with_a_result_a_row(logged_in, ann, robo):
    rows = some(robo)
    client = logged_in(ann)
    answer(logged_in(person("bea", "approvers")), rows[1], "deny", reason="too wide")
    shown = told(client.post(TAKE, seen(rows)))
    assert [state(row) for row in rows] == [("approved", 2), ("denied", 2), ("approved", 2)]
    assert shown.count('<strong class="forge-yes">approved</strong>') == 2
    assert "nothing was changed by you: this approval is denied, at version 2" in shown
    assert "denied by bea" in shown
    assert "too wide" in shown
    assert facts("exec-0")[-1]["actor"] == "user:ann"
    again = told(client.post(TAKE, seen(rows)))
    assert again.count("nothing was changed by you") == 3


def test_one_reason_denies_all(logged_in, ann, robo):
    rows = some(robo, 2)
    rows.append(pending(robo, "exec-8", capability="patch.apply", risk="high", warnings=("odd",)))
    client = logged_in(ann)
    shown = told(client.post(SHOW, chosen(rows, "deny")))
    assert "Deny all 3" in shown
    refused = told(client.post(TAKE, seen(rows, "deny")), 400)
    assert "Say why" in refused
    assert [state(row) for row in rows] == [("pending", 1)] * 3
    told(client.post(TAKE, seen(rows, "deny", "not\r\ntoday")))
    assert [state(row) for row in rows] == [("denied", 2)] * 3
    rows[0].refresh_from_db()
    assert rows[0].reason == "not\ntoday"


@pytest.mark.parametrize(("changes", "why"), [
    ({"capability": "patch.apply"}, "one and the same capability"),
    ({"risk": "high"}, "low and medium risk"),
    ({"risk": "critical"}, "low and medium risk"),
    ({"warnings": ("odd",)}, "has a warning"),
    ({"purpose": "trust\u202eme"}, "has a warning"),
    ({"target": "рaypal.txt"}, "has a warning"),
])  # fmt: skip
def test_what_must_be_looked_at_alone_is_refused_whole(logged_in, ann, robo, changes, why):
    rows = [*some(robo, 2), pending(robo, "exec-9", **{"warnings": (), **changes})]
    client = logged_in(ann)
    shown = told(client.post(SHOW, chosen(rows)))
    assert why in shown
    assert 'name="seen"' not in shown
    assert why in told(client.post(TAKE, seen(rows)), 409)
    assert {state(row) for row in rows} == {("pending", 1)}


def test_a_changed_world_and_an_earlier_denial_are_warnings(logged_in, ann, robo, monkeypatch):
    client = logged_in(ann)
    answer(client, pending(robo, "exec-old", warnings=()), "deny", reason="no")
    rows = some(robo, 2)
    again = pending(robo, "exec-9", warnings=())  # the input of the one that was denied
    assert "has a warning" in told(client.post(TAKE, seen([*rows, again])), 409)
    monkeypatch.setattr(ports, "still_holds", lambda row: row.pk != rows[1].pk)
    assert rows[1].ref in told(client.post(TAKE, seen(rows)), 409)
    assert {state(row) for row in [*rows, again]} == {("pending", 1)}


def test_no_more_than_twenty_are_approved(logged_in, ann, robo):
    rows = some(robo, MOST_APPROVED + 1)
    client = logged_in(ann)
    assert "between 1 and 20" in told(client.post(SHOW, chosen(rows)))
    told(client.post(TAKE, seen(rows)), 409)
    assert {state(row) for row in rows} == {("pending", 1)}
    told(client.post(TAKE, seen(rows[1:])))
    assert {state(row) for row in rows[1:]} == {("approved", 2)}


@pytest.mark.parametrize("fault", [
    {"seen": ["appr_0 1 jcs1:x"]}, {"seen": ["\0 1 jcs1:x"]}, {"seen": ["x"]}, {"seen": []}, {"seen": [" 9 "]},
    {"decision": "maybe"}, {"decision": ""}, {"reason": "x" * 2001},
])  # fmt: skip
def test_what_no_form_sends_is_refused(logged_in, ann, robo, fault):
    rows = some(robo, 2)
    sent = logged_in(ann).post(TAKE, seen(rows) | fault)
    if "reason" in fault:  # a result a row: each refuses it
        assert told(sent).count("nothing was changed by you") == 2
    else:
        assert sent.status_code in (400, 404, 409)
    assert {state(row) for row in rows} == {("pending", 1)}


def test_one_sent_twice_is_refused(logged_in, ann, robo):
    rows = some(robo, 1)
    told(logged_in(ann).post(TAKE, seen(rows * 2)), 409)
    assert state(rows[0]) == ("pending", 1)


def test_nobody_answers_their_own_or_without_permission(logged_in, owen, olga, robo):
    rows = some(robo, 2)
    shown = told(logged_in(owen).post(SHOW, chosen(rows)))
    assert rows[0].ref not in shown
    assert told(logged_in(owen).post(TAKE, seen(rows))).count("nobody decides their own requests") == 2
    for url in (SHOW, TAKE):
        assert logged_in(olga).post(url, seen(rows) | chosen(rows)).status_code == 403
        for method in ("get", "head", "put"):
            assert getattr(logged_in(owen), method)(url).status_code == 405
        assert logged_in(owen, csrf=True).post(url, seen(rows)).status_code == 403
    assert {state(row) for row in rows} == {("pending", 1)}


def test_the_queue_offers_boxes_to_who_decides_and_there_alone(logged_in, ann, olga, robo, monkeypatch):
    from approvals.around import Around

    (row,) = some(robo, 1)
    monkeypatch.setattr(around, "of", lambda refs: {"exec-0": Around(task="fix-\u202e7", calls=3, done=2)})
    box = f'<input type="checkbox" name="chosen" value="{row.ref}"'
    shown = told(logged_in(ann).get(QUEUE))
    assert box in shown
    assert re.search(r"robo for <code>fix-\\u\{202E\}7</code>", shown)
    assert box not in told(logged_in(ann).get(f"{QUEUE}?state=pending"))
    assert box not in told(logged_in(olga).get(QUEUE))
