"""What operators keep: rules as versions, agents, tokens, workspaces."""

import pytest
from knox.models import AuthToken

from approvals.models import Agent, PolicyRule
from executions.models import Workspace, WorkspaceAccess

pytestmark = pytest.mark.django_db

RULES, AGENTS = "/admin/approvals/policyrule/", "/admin/approvals/agent/"
TOKENS, PLACES = "/admin/knox/authtoken/", "/admin/executions/workspace/"
RULE = {"name": "git", "priority": "5", "caller": "", "capability": "git.*", "decision": "DENY", "reason": "not yet",
        "votes": "1"}  # fmt: skip


def told(answer, status=200):
    assert answer.status_code == status
    return answer.content.decode()


@pytest.fixture
def who(logged_in, olga):
    return logged_in(olga)


@pytest.fixture
def rule(who):
    assert who.post(f"{RULES}add/", RULE)["Location"] == RULES
    return PolicyRule.objects.get()


def test_a_rule_is_added_and_names_its_author(rule, olga):
    assert (str(rule), rule.priority, rule.decision, rule.author) == ("git v1", 5, "DENY", olga)


def test_editing_a_rule_makes_its_next_version(who, rule, olga):
    assert who.post(f"{RULES}{rule.pk}/change/", RULE | {"decision": "REVIEW"}).status_code == 302
    old, new = PolicyRule.objects.order_by("version")
    assert (old.decision, old.retired_by, new.version, new.decision, new.retired_at) == (
        "DENY",
        olga,
        2,
        "REVIEW",
        None,
    )
    assert [row.pk for row in who.get(RULES).context["cl"].result_list] == [new.pk]
    assert who.get(f"{RULES}?version=retired").context["cl"].result_list[0].pk == old.pk
    assert who.post(f"{RULES}{old.pk}/change/", RULE).status_code == 403
    assert "_save" not in told(who.get(f"{RULES}{old.pk}/change/"))


def test_saving_without_a_change_makes_no_version(who, rule):
    who.post(f"{RULES}{rule.pk}/change/", RULE)
    assert PolicyRule.objects.get() == rule


@pytest.mark.parametrize("fault", [
    {"name": "two words"}, {"name": "default"}, {"capability": "git *"}, {"decision": "MAYBE"}, {"caller": "nobody"},
    {"priority": "first"}, {"name": "git"}, {"reason": "x" * 501},
])  # fmt: skip
def test_what_no_rule_may_say_is_told_at_its_field(who, rule, fault):
    shown = told(who.post(f"{RULES}add/", RULE | {"name": "other"} | fault, follow=True))
    assert "errorlist" in shown or "another version" in shown
    assert PolicyRule.objects.count() == 1


def test_a_rule_is_retired_not_deleted(who, rule):
    sent = {"action": "retire", "_selected_action": [rule.pk]}
    assert "git v1 is retired" in told(who.post(RULES, sent, follow=True))
    assert PolicyRule.objects.exclude(retired_at=None).get() == rule
    who.post(f"{RULES}?version=all", sent)  # again: it stays as it is
    assert who.post(f"{RULES}{rule.pk}/delete/", {"post": "yes"}).status_code == 403


def test_auditors_change_no_settings(logged_in, aude, rule, robo):
    who = logged_in(aude)
    AuthToken.objects.create(user=robo)
    for url in (f"{RULES}add/", f"{RULES}{rule.pk}/change/", f"{AGENTS}add/", f"{PLACES}add/"):
        assert who.post(url, RULE).status_code == 403
    who.post(RULES, {"action": "retire", "_selected_action": [rule.pk]})
    who.post(TOKENS, {"action": "revoke", "_selected_action": [AuthToken.objects.get().pk]})
    assert (PolicyRule.objects.get().retired_at, AuthToken.objects.count()) == (None, 1)


def test_an_agent_is_added_with_its_owner(who, owen, ann):
    sent = {"name": "bot", "owner": owen.pk, "acts_for": [ann.pk]}
    assert who.post(f"{AGENTS}add/", sent).status_code == 302
    made = Agent.objects.get()
    assert (made.user.username, made.owner, list(made.acts_for.all())) == ("bot", owen, [ann])
    assert (made.user.is_staff, made.user.has_usable_password()) == (False, False)
    assert list(made.user.groups.values_list("name", flat=True)) == ["agents"]
    assert "already" in told(who.post(f"{AGENTS}add/", sent))
    assert "Select a valid choice" in told(who.post(f"{AGENTS}add/", {"name": "bot2", "owner": made.user.pk}))
    assert who.post(f"{AGENTS}{made.pk}/change/", sent).status_code == 403


def test_a_token_is_listed_and_revoked_and_never_shown(who, robo):
    row, token = AuthToken.objects.create(user=robo)
    shown = told(who.get(TOKENS))
    assert "robo" in shown
    assert not [text for text in (token, row.token_key) if text in shown]
    for url in (
        f"{TOKENS}add/",
        f"{TOKENS}{row.pk}/change/",
        f"{TOKENS}{row.pk}/delete/",
        f"{TOKENS}{row.pk}/history/",
    ):
        assert who.get(url).status_code == 403
    sent = {"action": "revoke", "_selected_action": [row.pk]}
    assert "A token of robo is revoked" in told(who.post(TOKENS, sent, follow=True))
    assert not AuthToken.objects.exists()


def test_a_workspace_is_registered_and_granted(who, robo, tmp_path):
    place = tmp_path / "ws"
    place.mkdir()
    sent = {"name": "ws", "path": str(place), "hosts": "", "isolation": "shared"}
    assert who.post(f"{PLACES}add/", sent).status_code == 302
    row = Workspace.objects.get()
    assert (row.path, row.hosts) == (str(place), ["test-host"])
    url = f"{PLACES}{row.pk}/change/"
    one = {"access-TOTAL_FORMS": "1", "access-INITIAL_FORMS": "0", "access-0-workspace": row.pk, "isolation": "shared"}
    assert who.post(url, one | {"access-0-user": robo.pk, "access-0-mode": "read"}).status_code == 302
    access = WorkspaceAccess.objects.get()
    assert (access.user, access.mode) == (robo, "read")
    had = one | {"access-INITIAL_FORMS": "1", "access-0-id": access.pk}
    assert who.post(url, had | {"access-0-mode": "write", "path": "/etc"}).status_code == 302
    row.refresh_from_db()
    assert (WorkspaceAccess.objects.get().mode, row.path) == ("write", str(place))
    who.post(url, had | {"access-0-mode": "write", "access-0-DELETE": "on"})
    assert not WorkspaceAccess.objects.exists()


@pytest.mark.parametrize("path", ["/", "relative", "/no/such/place", "/a\0b"])
def test_a_bad_path_is_refused(who, path):
    sent = {"name": "ws", "path": path, "isolation": "shared"}
    shown = told(who.post(f"{PLACES}add/", sent, follow=True))
    assert "error" in shown
    assert not Workspace.objects.exists()


def lets_pass(**says):
    return {"access-TOTAL_FORMS": "0", "access-INITIAL_FORMS": "0", "isolation": "shared", "network_hosts": ""} | says


def test_what_a_workspace_lets_pass_is_said_and_changed(who, ann, logged_in, tmp_path):
    sent = {"name": "ws", "path": str(tmp_path), "hosts": "", "isolation": "shared", "network_hosts": "A.example"}
    assert who.post(f"{PLACES}add/", sent).status_code == 302
    row = Workspace.objects.get()
    url = f"{PLACES}{row.pk}/change/"
    assert 'value="a.example"' in told(who.get(url))
    assert who.post(url, lets_pass(network_hosts=" b.example:8443  a.example ")).status_code == 302
    row.refresh_from_db()
    assert row.network_hosts == ["a.example", "b.example:8443"]
    assert "b.example:8443" in told(who.get(PLACES))
    assert who.post(url, lets_pass()).status_code == 302
    row.refresh_from_db()
    assert (row.network_hosts, row.isolation, row.hosts) == ([], "shared", ["test-host"])
    assert logged_in(ann).post(url, lets_pass(network_hosts="c.example")).status_code == 403


@pytest.mark.parametrize(
    ("says", "said"),
    [
        ({"network_hosts": "a.example *.example"}, "&#x27;*.example&#x27; is no host"),
        ({"network_hosts": "169.254.169.254"}, "may not be connected to"),
        ({"network_hosts": "a\0b"}, "Null characters"),
        ({"isolation": "per_execution"}, "its executions share it"),
        ({"isolation": "none"}, "Select a valid choice"),
        ({"isolation": ""}, "This field is required"),
    ],
)
def test_what_no_workspace_can_let_pass_is_told_at_its_field(who, tmp_path, says, said):
    row = Workspace.objects.create(name="ws", path=str(tmp_path), hosts=["test-host"], network_hosts=["a.example"])
    assert said in told(who.post(f"{PLACES}{row.pk}/change/", lets_pass(**says)))
    new = {"name": "new", "path": str(tmp_path), "hosts": ""}
    assert said in told(who.post(f"{PLACES}add/", new | lets_pass(**says)))
    assert Workspace.objects.get().network_hosts == ["a.example"]


def test_a_condition_that_does_not_parse_is_told_at_its_field(who):
    sent = RULE | {"condition": "input.argv.all(a, input.argv.all(b, a == b))"}
    shown = told(who.post(f"{RULES}add/", sent))
    assert "can&#x27;t stand in another" in shown
    assert not PolicyRule.objects.exists()


def test_a_rule_that_never_matches_is_saved_with_a_warning(who):
    shown = told(who.post(f"{RULES}add/", RULE, follow=True))
    assert "no capability here is called git.*: this rule never matches" in shown
    assert PolicyRule.objects.get().name == "git"


EXAMPLES = (
    '[{"capability": "file.write", "input": {"path": "a", "content": ""}, "expect": "REVIEW"},'
    ' {"capability": "file.read", "input": {"path": "a"}, "expect": "DENY"}]'
)


def test_examples_are_tried_and_change_nothing(who, logged_in, aude, ann):
    shown = told(who.post(f"{RULES}test/", {"examples": EXAMPLES}))
    assert "REVIEW by default v1: anybody, file.write" in shown
    assert "Not as expected:" in shown
    assert "ALLOW by default v1: anybody, file.read (expected DENY)" in shown
    assert logged_in(aude).get(f"{RULES}test/").status_code == 200
    assert logged_in(ann).get(f"{RULES}test/").status_code == 403


@pytest.mark.parametrize(
    "examples", ["", "{}", "[1]", '[{"capability": "no"}]', '[{"capability": "file.read", "input": {}}]', "[" * 900]
)
def test_examples_that_are_none_are_refused(who, examples):
    told(who.post(f"{RULES}test/", {"examples": examples}), 400)
