"""`workspace add|grant|revoke|list`."""

import json

import pytest
from django.conf import settings

from executions.models import Workspace, WorkspaceAccess
from tests.db.commands import run

pytestmark = pytest.mark.django_db(transaction=True)


def test_add_stores_the_real_path_and_this_host(db, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    code, _ = run("workspace", "add", "site", str(tmp_path / "link"))
    row = Workspace.objects.get()
    assert (code, row.name, row.path, row.hosts) == (0, "site", str(tmp_path / "real"), ["test-host"])


def test_add_takes_hosts(db, tmp_path):
    run("workspace", "add", "site", str(tmp_path), "--host", "b", "--host", "a")
    assert Workspace.objects.get().hosts == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("relative/path", "not an absolute path"),
        ("/no/such/directory", "not an existing directory"),
        ("/etc/hostname", "not an existing directory"),
        ("/", "no workspace"),
    ],
)
def test_add_refuses_what_is_no_directory_of_its_own(db, path, told):
    code, said = run("workspace", "add", "site", path)
    assert (code, told in said, Workspace.objects.count()) == (2, True, 0)


@pytest.mark.parametrize("part", ["", "artifacts", ".."])
def test_forges_own_files_are_never_in_a_workspace(db, part):
    path = settings.FORGE_VAR / part
    path.mkdir(parents=True, exist_ok=True)
    code, said = run("workspace", "add", "site", str(path))
    assert (code, "must lie apart" in said) == (2, True)


@pytest.mark.parametrize("name", ["a b", "../x", "x" * 81, ""])
def test_add_refuses_a_bad_name(db, tmp_path, name):
    code, _ = run("workspace", "add", name, str(tmp_path))
    assert (code, Workspace.objects.count()) == (2, 0)


def test_a_name_is_taken_once_and_directories_lie_apart(workspace, folder, tmp_path):
    (folder / "inner").mkdir()
    other = tmp_path / "other"
    other.mkdir()
    assert run("workspace", "add", "ws", str(other)) == (1, "there is a workspace ws already")
    for inside in (folder / "inner", folder, tmp_path):
        code, said = run("workspace", "add", "more", str(inside))
        assert (code, "must lie apart" in said) == (1, True)
    assert run("workspace", "add", "more", str(folder), "--host", "another-host")[0] == 0


def test_set_changes_what_it_lets_pass(workspace):
    assert run("workspace", "set", "ws", "--network-hosts", "B.example", "a.example:8443") == (
        0,
        "workspace ws: shared, reads a.example:8443, b.example\n",
    )
    assert run("workspace", "set", "ws") == (0, "workspace ws: shared, reads a.example:8443, b.example\n")
    assert "reads a.example:8443, b.example" in run("workspace", "list")[1]
    assert json.loads(run("workspace", "list", "--json")[1])[0]["network_hosts"] == ["a.example:8443", "b.example"]
    assert run("workspace", "set", "ws", "--network-hosts") == (0, "workspace ws: shared, reads no host\n")
    assert Workspace.objects.get().network_hosts == []


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("none",), "no such workspace"),
        (("ws", "--network-hosts", "*"), "is no host"),
        (("ws", "--network-hosts", "10.0.0.1"), "may not be connected to"),
        (("ws", "--isolation", "per_execution"), "its executions share it"),
    ],
)
def test_set_refuses(workspace, args, told):
    code, said = run("workspace", "set", *args)
    assert (code, told in said) == (2, True)
    assert (Workspace.objects.get().network_hosts, Workspace.objects.get().isolation) == ([], "shared")


def test_add_takes_what_it_lets_pass(db, tmp_path):
    assert run("workspace", "add", "site", str(tmp_path), "--network-hosts", "*.example")[0] == 2
    assert run("workspace", "add", "site", str(tmp_path), "--network-hosts", "a.example")[0] == 0
    assert Workspace.objects.get().network_hosts == ["a.example"]


def test_grant_and_revoke(workspace, caller):
    WorkspaceAccess.objects.all().delete()
    assert run("workspace", "grant", "ws", "robo", "--read") == (0, "robo may read in ws\n")
    assert run("workspace", "grant", "ws", "robo") == (0, "robo may write in ws\n")
    assert WorkspaceAccess.objects.get().mode == "write"
    listed = json.loads(run("workspace", "list", "--json")[1])
    assert [(row["name"], row["access"]) for row in listed] == [("ws", {"robo": "write"})]
    assert "robo (write)" in run("workspace", "list")[1]
    assert run("workspace", "revoke", "ws", "robo")[0] == 0
    assert run("workspace", "revoke", "ws", "robo")[0] == 2
    assert "nobody" in run("workspace", "list")[1]


@pytest.mark.parametrize("args", [("none", "robo"), ("ws", "owen"), ("ws", "none")])
def test_grant_needs_a_workspace_and_an_agent(workspace, args):
    assert run("workspace", "grant", *args)[0] == 2
