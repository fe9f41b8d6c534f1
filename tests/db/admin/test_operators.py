"""What operators see: what needs them, live counts, the timeline by turns, and the audit as page and file."""

import json
import re

import pytest

from approvals.models import Approval
from executions.models import Execution, Workspace, WorkspaceAccess
from forge_project.kernel import clock
from forge_project.ledger.models import Event
from tests.db.executions import answer, run_all, send
from tests.db.executions.conftest import runtime, zygotes  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)

LIST = "/admin/executions/execution/"
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyzA"
SCRIPT = """const [a] = await Promise.all([tools.file.read({path: 'a.txt'}), tools.file.list({path: '.'})]);
return tools.call('file.write', {path: 'a.txt', content: a.content + '%s'}, {purpose: 'add \u202ea line'})"""


@pytest.fixture
def done(robo, ann, tmp_path, runtime, settings):  # noqa: F811
    settings.FORGE_LINGER_MS = 0
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a.txt").write_text("before\n")
    place = Workspace.objects.create(name="ws", path=str(tmp_path / "ws"), hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=place, user=robo)
    sent = send(robo, source=SCRIPT % SECRET, workspace="ws", task_id="docs-7")
    run_all(runtime)
    answer(Approval.objects.get(), ann, reason="read it")
    run_all(runtime)
    row = Execution.objects.get(pk=sent.ref)
    assert row.status == "succeeded"
    return row


def shown(client, url, status=200):
    got = client.get(url)
    assert got.status_code == status
    return got.content.decode()


def test_the_timeline_goes_by_turns_and_leaves_nothing_out(logged_in, aude, done):
    page = shown(logged_in(aude), f"{LIST}{done.ref}/change/")
    titles = re.findall(r'<h3 class="forge-turn">(.*?)</h3>', page)
    assert titles[0] == "From the request on"
    assert titles[1] == "Turn 1, attempt 1: asks for call 1 file.read, 2 file.list"
    assert any(title.endswith("asks for call 3 file.write") for title in titles)
    seqs = re.findall(r"<tr>\s*<td>(\d+)</td>", page.split('id="events"')[1])
    assert [int(seq) for seq in seqs] == list(range(1, Event.objects.filter(invocation_id=done.ref).count() + 1))
    assert re.search(r"<td>\+\d+\.\d{3} s</td>", page)


def test_the_audit_tells_all_of_it_and_shows_no_secret(logged_in, aude, done):
    client = logged_in(aude)
    page = shown(client, f"{LIST}{done.ref}/audit/")
    for said in ("docs-7", "Call 3: file.write, succeeded, effect applied", "add \\u{202E}a line", "read it", "ann",
                 "consumed", "events was verified just now"):  # fmt: skip
        assert said in page, said
    for event in Event.objects.filter(invocation_id=done.ref):
        assert event.hash in page
    got = client.get(f"{LIST}{done.ref}/audit.json")
    assert got["Content-Disposition"] == f'attachment; filename="{done.ref}.json"'
    story = json.loads(got.content)
    assert set(story) == {"execution", "attempts", "calls", "events", "verify"}
    assert len(story["events"]) == Event.objects.filter(invocation_id=done.ref).count()
    for text in (page, got.content.decode()):
        assert SECRET not in text
        assert "\u202e" not in text


@pytest.mark.parametrize("name", ["audit/", "audit.json"])
def test_who_may_see_the_audit_and_how(logged_in, done, everyone, staffed_agent, client, name):
    url = f"{LIST}{done.ref}/{name}"
    for user in everyone.values():
        assert logged_in(user).get(url).status_code == 200
        for method in ("post", "put", "delete"):
            assert getattr(logged_in(user), method)(url).status_code == 405
    for other in (client, logged_in(staffed_agent)):
        assert other.get(url)["Location"].startswith("/admin/login/")
    for ref in ("exec_0", "%00", "x" * 500):
        assert logged_in(everyone["operator"]).get(f"{LIST}{ref}/{name}").status_code == 404


def test_a_broken_chain_is_said_in_the_audit(logged_in, aude, done, monkeypatch):
    from executions.services import audit
    from forge_project.ledger.verify import Finding, Report

    found = Finding(invocation=done.ref, seq=3, problem="edited")
    monkeypatch.setattr(audit, "verify", lambda ref: Report(events=9, invocations=1, findings=[found]))
    page = shown(logged_in(aude), f"{LIST}{done.ref}/audit/")
    assert "Broken at seq 3: edited" in page
    assert "verified just now" not in page


def test_what_needs_somebody_is_listed_with_why(logged_in, olga, done, robo):
    client = logged_in(olga)
    page = shown(client, f"{LIST}attention/")
    assert page.count("✓ None.") == 5
    assert "<strong>0</strong> need attention" in page
    waits = send(robo, "waits", source="return 1")
    Execution.objects.filter(pk=waits.pk).update(quarantined="sealed \u202erow")
    Execution.objects.filter(pk=done.pk).update(quarantined="it has ended all the same", termination_unconfirmed=True)
    page = shown(client, f"{LIST}attention/")
    assert "Quarantined (1)" in page
    assert "Guest not known to be dead (1)" in page
    assert "sealed \\u{202E}row" in page
    assert page.count(f"{LIST}{done.ref}/change/") == page.count(f"{LIST}{waits.ref}/change/") == 1
    assert "<strong>2</strong> need attention" in page
    assert client.post(f"{LIST}attention/").status_code == 405


@pytest.mark.rows_by_hand
def test_an_unknown_effect_and_a_silent_worker_need_somebody(logged_in, olga, done):
    from datetime import timedelta

    from executions.models import Worker

    worker = Worker.objects.get()
    Execution.objects.filter(pk=done.pk).update(
        status="unknown", side_effect="unknown", error_code="UNKNOWN_REALITY", error_message="nobody saw"
    )
    page = shown(logged_in(olga), f"{LIST}attention/")
    assert "Unknown effect (1)" in page
    assert "UNKNOWN_REALITY; nobody saw" in page
    Execution.objects.filter(pk=done.pk).update(status="running", worker=worker)
    assert "Worker gone silent (0)" in shown(logged_in(olga), f"{LIST}attention/")
    Worker.objects.update(heartbeat=clock.now() - timedelta(hours=1))
    assert "Worker gone silent (1)" in shown(logged_in(olga), f"{LIST}attention/")
    Execution.objects.filter(pk=done.pk).update(status="succeeded", side_effect="applied", worker=None, error_code="")


def test_the_index_counts_what_concerns_who_looks(logged_in, ann, olga, done, robo):
    from tests.people import person

    assert "<strong>0</strong> waiting for me" in shown(logged_in(ann), "/admin/")
    assert "waiting for me" not in shown(logged_in(olga), "/admin/")
    assert "<strong>0</strong> running" in shown(logged_in(olga), "/admin/")
    assert "<strong>" not in shown(logged_in(person("nil")), "/admin/").split('id="forge-now"')[1].split("</div>")[0]


def test_one_is_cancelled_from_its_page_with_a_reason(logged_in, olga, ann, done, robo, runtime):  # noqa: F811
    sent = send(robo, key="k2", capability="file.write", input={"path": "b.txt", "content": "b"}, workspace="ws")
    run_all(runtime)
    url = f"{LIST}{sent.ref}/cancel/"
    assert url in shown(logged_in(olga), f"{LIST}{sent.ref}/change/")
    assert url not in shown(logged_in(ann), f"{LIST}{sent.ref}/change/")
    assert "/cancel/" not in shown(logged_in(olga), f"{LIST}{done.ref}/change/")  # it has finished
    assert logged_in(ann).post(url, {"reason": "x"}).status_code == 403
    assert logged_in(olga, csrf=True).post(url, {"reason": "x"}).status_code == 403
    for method in ("get", "head", "put"):
        assert getattr(logged_in(olga), method)(url).status_code == 405
    assert logged_in(olga).post(f"{LIST}exec_0/cancel/", {"reason": "x"}).status_code == 404
    assert "say why" in logged_in(olga).post(url, {"reason": " "}, follow=True).content.decode()
    row = Execution.objects.get(pk=sent.ref)
    assert row.status == "waiting_approval"
    assert "is cancelled" in logged_in(olga).post(url, {"reason": "wrong file"}, follow=True).content.decode()
    row.refresh_from_db()
    assert (row.status, row.cancel_requested_by, row.cancel_reason) == ("cancelled", "user:olga", "wrong file")


def test_a_signal_that_no_webhook_took_needs_somebody(logged_in, olga, done, robo):
    from executions.outbox.models import Delivery, Signal, Webhook

    signal = Signal.objects.filter(execution=done).first()
    hook = Webhook.objects.create(
        ref="hook_1", owner=robo, origin="https://a.example", sealed_target=b"x", kinds=[], created_at=clock.now()
    )
    row = Delivery.objects.create(webhook=hook, signal=signal, due_at=clock.now(), attempts=9, error="refused")
    assert "Signal that no webhook took (0)" in shown(logged_in(olga), f"{LIST}attention/")
    Delivery.objects.filter(pk=row.pk).update(state="dead", ended_at=clock.now())
    page = shown(logged_in(olga), f"{LIST}attention/")
    assert "Signal that no webhook took (1)" in page
    assert done.ref in page
    assert "Holds: what is stopped on purpose" in page
