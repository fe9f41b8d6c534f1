"""What people do to Forge itself is in `forge:governance`, in the transaction of the change; a log-in of staff too."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from knox.models import AuthToken

from approvals.models import Agent, PolicyRule
from approvals.services import RetireRule, SaveRule, issue_token, retire_rule, revoke_tokens, save_rule
from approvals.sessions import digest
from executions.models import Workspace, WorkspaceAccess
from executions.services import accounts, workspaces
from executions.services.accounts import AddPerson, CreateAgent
from executions.services.workspaces import AddWorkspace, ChangeWorkspace, Grant
from forge_project.kernel import actors, failpoints
from forge_project.ledger.governance import GOVERNANCE, record
from forge_project.ledger.models import Event
from forge_project.ledger.verify import verify
from tests.people import PASSWORD, person

pytestmark = pytest.mark.django_db
RULE = {"name": "git", "capability": "git.*", "decision": "DENY", "reason": "not yet"}
SAID = {"priority": 100, "votes": 1, "reviewer_may_allow": False, "approval_required": False}  # by a rule unasked


@pytest.fixture(autouse=True)
def world(db, settings, tmp_path):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    (tmp_path / "new").mkdir()
    (tmp_path / "old").mkdir()
    olga, owen = person("olga", "operators"), person("owen")
    save_rule(SaveRule(name="old", capability="file.*", decision="ALLOW", author=olga))
    robo = accounts.create_agent(CreateAgent(name="robo", owner="owen")).user
    issue_token(robo, 3, actor="os:op")
    for name, place in (("ws", "old"), ("granted", "old/in")):
        (tmp_path / place).mkdir(exist_ok=True)
        Workspace.objects.create(name=name, path=str(tmp_path / place), hosts=["elsewhere"])
    workspaces.grant(Grant(workspace="granted", agent="robo"))
    yield {"olga": olga, "owen": owen, "robo": robo, "place": str(tmp_path / "new")}
    assert verify().findings == []


def facts(after=0):
    rows = Event.objects.filter(invocation_id=GOVERNANCE, seq__gt=after).order_by("seq")
    return [json.loads(row.payload)["actions"]["forge"] for row in rows]


def head():
    return Event.objects.filter(invocation_id=GOVERNANCE).count()


def kept():
    """All that the changes below may change."""
    return [
        list(model.objects.order_by("pk").values()) for model in (User, Agent, PolicyRule, AuthToken, Workspace, Group)
    ] + [list(WorkspaceAccess.objects.order_by("pk").values())]


CHANGES = {
    "rule.added": (
        lambda w: save_rule(SaveRule(author=w["olga"], **RULE)),
        {"actor": "user:olga", "version": 1, **SAID, **RULE},
    ),
    "rule.changed": (
        lambda w: save_rule(SaveRule(name="old", capability="file.*", decision="DENY", author=w["olga"])),
        {
            "actor": "user:olga", "name": "old", "version": 2, "was": 1, "capability": "file.*", "decision": "DENY",
            **SAID,
        },
    ),
    "rule.retired": (
        lambda w: retire_rule(RetireRule(name="old", author=w["olga"])),
        {"actor": "user:olga", "name": "old", "version": 1},
    ),
    "token.made": (lambda w: issue_token(w["robo"], 3, actor="os:op"), {"actor": "os:op", "user": "robo"}),
    "token.revoked": (
        lambda _: revoke_tokens(AuthToken.objects.all(), actor="user:olga"),
        {"actor": "user:olga", "user": "robo"},
    ),
    "workspace.added": (
        lambda w: workspaces.add_workspace(AddWorkspace(name="new", path=w["place"], actor="user:olga")),
        {
            "actor": "user:olga", "name": "new", "hosts": ["test-host"], "isolation": "shared", "network_hosts": [],
        },
    ),
    "workspace.changed": (
        lambda _: workspaces.change_workspace(
            ChangeWorkspace(name="ws", network_hosts=["A.example"], isolation="shared", actor="user:olga")
        ),
        {"actor": "user:olga", "name": "ws", "network_hosts": ["a.example"], "was": {"network_hosts": []}},
    ),
    "workspace.granted": (
        lambda _: workspaces.grant(Grant(workspace="ws", agent="robo", actor="user:olga")),
        {"actor": "user:olga", "name": "ws", "agent": "robo", "mode": "write"},
    ),
    "workspace.revoked": (
        lambda _: workspaces.revoke("granted", "robo", actor="user:olga"),
        {"actor": "user:olga", "name": "granted", "agent": "robo"},
    ),
    "agent.created": (
        lambda _: accounts.create_agent(CreateAgent(name="bot", owner="owen", acts_for=["olga"], actor="user:olga")),
        {"actor": "user:olga", "name": "bot", "owner": "owen", "acts_for": ["olga"]},
    ),
    "agent.revoked": (lambda _: accounts.revoke_agent("robo", actor="os:op"), {"actor": "os:op", "name": "robo"}),
    "person.added": (
        lambda _: accounts.add_person(AddPerson(name="pat", password=PASSWORD, roles=["auditors"], actor="os:op")),
        {"actor": "os:op", "name": "pat", "roles": ["auditors"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_is_told_by_whom_and_what(world, kind):
    before = head()
    do, said = CHANGES[kind]
    do(world)
    told = facts(before)[0]
    assert (told["fact"], told) == (kind, told | said)
    if "made" not in kind and "token" not in kind and kind != "workspace.added":
        assert told.keys() == {"fact", *said}
    assert len(facts(before)) == (2 if kind == "agent.revoked" else 1)  # its token ends too


class Undone(Exception):
    pass


def undone(do, world):
    with pytest.raises(Undone), transaction.atomic():
        do(world)
        raise Undone


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_that_is_rolled_back_was_never_told(world, kind):
    before, was = facts(), kept()
    undone(CHANGES[kind][0], world)
    assert (facts(), kept()) == (before, was)


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_that_can_not_be_told_is_not_made(world, kind):
    before, was = facts(), kept()
    with failpoints.crash_at("ledger.after_head"):
        CHANGES[kind][0](world)
    assert (facts(), kept()) == (before, was)


def test_what_changes_nothing_tells_nothing(world):
    before = head()
    save_rule(SaveRule(name="old", capability="file.*", decision="ALLOW", author=world["olga"]))
    workspaces.grant(Grant(workspace="granted", agent="robo"))
    accounts.revoke_agent("robo")
    accounts.revoke_agent("robo")
    assert [told["fact"] for told in facts(before)] == ["agent.revoked", "token.revoked"]


def test_no_token_and_no_digest_of_one_is_told(world):
    token = issue_token(world["robo"], 1, actor="os:op")
    row = AuthToken.objects.latest("created")
    revoke_tokens(AuthToken.objects.filter(pk=row.pk), actor="os:op")
    stored = "".join(Event.objects.values_list("payload", flat=True))
    assert not [secret for secret in (token, row.digest, row.token_key) if secret in stored]
    assert facts()[-1]["ends"] > facts()[-1]["created"]
    assert row.expiry - row.created > timedelta(hours=23)


def test_who_works_at_a_shell_is_named_by_the_system(world):
    accounts.create_agent(CreateAgent(name="bot", owner="owen"))
    assert facts()[-1]["actor"] == actors.shell()
    assert actors.shell().startswith("os:")


def test_a_log_in_of_staff_is_told_without_its_session_key(world):
    before = head()
    client = Client()
    sent = {"username": "olga", "password": PASSWORD, "next": "/admin/"}
    assert client.post("/admin/login/", sent).status_code == 302
    key = client.session.session_key
    (told,) = facts(before)
    assert told == {
        "fact": "session.opened", "actor": "user:olga", "session": digest(key), "address": "127.0.0.1",
    }  # fmt: skip
    assert key not in "".join(Event.objects.values_list("payload", flat=True))
    client.post("/admin/login/", sent | {"password": "wrong"})
    Client().force_login(world["robo"])
    assert len(facts(before)) == 1


def test_who_can_not_be_noted_is_not_logged_in(world):
    client = Client()
    with failpoints.crash_at("ledger.after_head"):
        client.post("/admin/login/", {"username": "olga", "password": PASSWORD})
    assert client.get("/admin/").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_a_fact_without_a_transaction_is_refused():
    assert not connection.in_atomic_block
    with pytest.raises(transaction.TransactionManagementError):
        record("rule.added", actor="os:op")
    with transaction.atomic():
        record("rule.added", actor="os:op")
    assert facts()[-1] == {"fact": "rule.added", "actor": "os:op"}


@pytest.fixture
def root(world):
    client = Client()
    client.force_login(User.objects.create_superuser("root", password=PASSWORD))
    return client


def test_roles_given_in_the_admin_are_told(world, root):
    url = f"/admin/auth/user/{world['owen'].pk}/change/"
    form = root.get(url).context["adminform"].form
    sent = {name: value for name, value in form.initial.items() if isinstance(value, str)}
    sent |= {"is_active": "on", "is_staff": "on", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    before = head()
    assert root.post(url, sent).status_code == 302
    assert facts(before) == []
    sent |= {"groups": [Group.objects.get(name="approvers").pk], "is_superuser": "on"}
    assert root.post(url, sent).status_code == 302
    assert facts(before) == [
        {
            "fact": "account.changed", "actor": "user:root", "name": "owen", "superuser": True,
            "groups": ["approvers"], "was": {"superuser": False, "groups": []},
        }
    ]  # fmt: skip
    undone(lambda _: root.post(url, sent | {"groups": []}), world)
    assert len(facts(before)) == 1


def test_accounts_and_groups_made_and_deleted_in_the_admin_are_told(world, root):
    before = head()
    sent = {"username": "new", "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    assert root.post("/admin/auth/user/add/", sent).status_code == 302
    new = User.objects.get(username="new")
    url = f"/admin/auth/user/{new.pk}/password/"
    changed = {"usable_password": "true", "password1": PASSWORD + "2", "password2": PASSWORD + "2"}
    root.get(url)
    root.post(url, changed | {"password2": "another"})
    assert root.post(url, changed | {"set-password": "1"}).status_code == 302
    assert root.post(f"/admin/auth/user/{new.pk}/delete/", {"post": "yes"}).status_code == 302
    assert root.post("/admin/auth/group/add/", {"name": "crew"}).status_code == 302
    crew = Group.objects.get(name="crew")
    picked = {"action": "delete_selected", "_selected_action": [crew.pk], "post": "yes"}
    assert root.post("/admin/auth/group/", picked).status_code == 302
    assert [(told["fact"], told["name"]) for told in facts(before)] == [
        ("account.added", "new"), ("account.password_set", "new"), ("account.deleted", "new"),
        ("group.added", "crew"), ("group.deleted", "crew"),
    ]  # fmt: skip
    assert PASSWORD not in "".join(Event.objects.values_list("payload", flat=True))
