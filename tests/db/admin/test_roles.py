"""Who sees which page; what no page shows; and that looking changes nothing."""

import pytest
from django.apps import apps
from django.urls import reverse
from knox.models import AuthToken

from approvals.models import Agent, PolicyRule
from approvals.services.rules import SaveRule, save_rule
from artifacts.models import Artifact
from executions.models import Attempt, Call, Execution, Worker, Workspace, WorkspaceAccess
from forge_project.ledger.models import Invocation
from tests.db.executions import run_all, send
from tests.db.executions.conftest import runtime, zygotes  # noqa: F401  # fixtures

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "sk-ant-api03-" + "k7Qz" * 23
PLAIN = "the whole text of the file that is written"
SEEN = ["approval", "execution", "call", "attempt", "worker", "event", "invocation", "artifact"]
SETTINGS = ["policyrule", "workspace", "agent"]
MODELS = {"approval": "approvals", "policyrule": "approvals", "agent": "approvals", "event": "ledger",
          "invocation": "ledger", "artifact": "artifacts", "authtoken": "knox"}  # fmt: skip


@pytest.fixture
def world(robo, olga, tmp_path, runtime):  # noqa: F811
    """An execution that ran and waits, and one row of all the rest."""
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/a.txt").write_text("before\n")
    place = Workspace.objects.create(name="ws", path=str(tmp_path / "ws"), hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=place, user=robo)
    sent = {"path": "a.txt", "content": f"{PLAIN} {SECRET}"}
    send(robo, capability="file.write", input=sent, workspace="ws", purpose="to\u202e test")
    run_all(runtime)
    save_rule(SaveRule(name="rule", capability="git.*", decision="DENY", author=olga))
    Artifact.objects.create(ref="art_1", kind="output", owner="user:robo", scopes="{}", sha256="0" * 64,
                            mime="text/plain", bytes=1, metadata="{}", created_at="2026-01-01T00:00:00Z")  # fmt: skip
    token = AuthToken.objects.create(user=robo)[1]
    home = Invocation.objects.get(pk=Execution.objects.get().ref)  # beside it there is what olga did to the rules
    return {"execution": Execution.objects.get(), "call": Call.objects.get(), "attempt": Attempt.objects.get(),
            "worker": Worker.objects.get(), "event": home.events.get(seq=1), "token": token,
            "invocation": home,
            "approval": apps.get_model("approvals.approval").objects.get(), "artifact": Artifact.objects.get(),
            "policyrule": PolicyRule.objects.get(), "workspace": place, "agent": Agent.objects.get()}  # fmt: skip


def urls(world, name):
    model = f"{MODELS.get(name, 'executions')}_{name}"
    found = [reverse(f"admin:{model}_changelist")]
    return found + ([reverse(f"admin:{model}_change", args=[world[name].pk])] if name in world else [])


def everything():
    """All rows but what a log-in writes: the time in the account, and a fact with its place in the chain."""
    labels = ("ledger", "artifacts", "approvals", "executions", "auth", "knox")
    models = [model for label in labels for model in apps.get_app_config(label).get_models()]
    noted = {"Invocation": {"pk": "forge:governance"}, "Event": {"kind": "session.opened"}}
    rows = [(name := model.__name__, model.objects.exclude(**noted.get(name, {}))) for model in models]
    return [(name, list(kept.order_by("pk").values())) for name, kept in rows if name != "User"]


def test_who_sees_which_page(world, everyone, staffed_agent, logged_in, client):
    sees = {"approver": SEEN, "operator": [*SEEN, *SETTINGS, "authtoken"], "auditor": [*SEEN, *SETTINGS, "authtoken"]}
    clients = {role: logged_in(user) for role, user in everyone.items()}
    before = everything()
    for name in [*SEEN, *SETTINGS, "authtoken"]:
        for url in urls(world, name):
            for role, who in clients.items():
                due = 200 if name in sees[role] else 403
                assert (who.get(url).status_code, who.head(url).status_code) == (due, due), (role, url)
                assert who.options(url).status_code in (due, 405)
            for who in (client, logged_in(staffed_agent)):
                assert who.get(url)["Location"].startswith("/admin/login/")
    assert everything() == before


def test_facts_are_not_added_changed_or_deleted(world, everyone, logged_in):
    before = everything()
    for user in everyone.values():
        who = logged_in(user)
        for name in SEEN:
            lists, page = urls(world, name)
            sent = [
                who.post(f"{lists}add/"),
                who.post(page),
                who.post(page.replace("/change/", "/delete/"), {"post": "yes"}),
            ]
            sent.append(who.post(lists, {"action": "delete_selected", "_selected_action": [world[name].pk]}))
            assert {answer.status_code for answer in sent} <= {200, 302, 403, 405}, name
    assert everything() == before


def test_no_page_shows_what_is_secret_or_sealed(world, everyone, logged_in):
    token = AuthToken.objects.get()
    who = logged_in(everyone["operator"])
    sealed = [bytes(world["execution"].sealed_request), bytes(world["call"].sealed_input)]
    for name in [*SEEN, *SETTINGS, "authtoken"]:
        for url in urls(world, name):
            shown = who.get(url).content.decode()
            found = [SECRET, world["token"], token.token_key, *(part.decode()[:40] for part in sealed)]
            assert not [text for text in found if text in shown], url
            assert "\u202e" not in shown
            assert "sealed_" not in shown
    assert PLAIN in who.get(urls(world, "approval")[1]).content.decode()  # the approver does see the change


def test_an_executions_page_tells_its_story(world, everyone, logged_in):
    shown = logged_in(everyone["auditor"]).get(urls(world, "execution")[1]).content.decode()
    for said in ("waiting_approval", world["approval"].ref, "file.write", "execution.parked", "✓ verified",
                 "to\\u{202E} test", world["event"].hash[:12], "parked"):  # fmt: skip
        assert said in shown
    assert "events was verified just now" in shown
    assert "yes, its whole chain" in logged_in(everyone["auditor"]).get(urls(world, "event")[1]).content.decode()


def test_cancelling_is_an_operators_action(world, everyone, logged_in):
    lists = urls(world, "execution")[0]
    sent = {"action": "cancel_selected", "_selected_action": [world["execution"].pk]}
    for role in ("approver", "auditor"):
        who = logged_in(everyone[role])
        assert "cancel_selected" not in who.get(lists).content.decode()
        who.post(lists, sent)
        assert Execution.objects.get().status == "waiting_approval"
    who = logged_in(everyone["operator"])
    who.get(lists, sent)
    assert Execution.objects.get().status == "waiting_approval"
    assert "is cancelled" in who.post(lists, sent, follow=True).content.decode()
    done = Execution.objects.get()
    assert (done.status, done.cancel_requested_by, done.cancel_reason) == (
        "cancelled",
        "user:olga",
        "cancelled in the admin",
    )
    assert "has finished" in who.post(lists, sent, follow=True).content.decode()  # a refusal is a message
