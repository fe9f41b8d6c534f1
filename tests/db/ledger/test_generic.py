"""What agents may append, and what each refusal says."""

import pytest

from forge_project.kernel.errors import ForgeError
from forge_project.ledger import generic, operations
from forge_project.ledger.events import fact
from forge_project.ledger.models import Event, Invocation, Operation
from forge_project.ledger.operations import Tool
from forge_project.ledger.verify import verify
from forge_project.ledger.writing import writing
from tests.db.ledger import identity

pytestmark = pytest.mark.django_db
PLACE = generic.Place(owner="user:ada", source="agent", session_id="s", run_id="r")
TEXT = {"kind": "text", "text": "hello"}


def event(**more):
    return {"invocation_id": "i", "turn_id": "t", "role": "model", "author": "agent", "content": TEXT} | more


def call(n="c1", **more):
    content = {"kind": "function_call", "id": n, "name": "search", "args": {"q": [1.5, None]}}
    return event(event_id=f"call-{n}", content=content, **more)


def response(n="c1", **more):
    content = {"kind": "function_response", "id": n, "name": "search", "result": {"required": ["b", "a"]}}
    return event(event_id=f"response-{n}", role="tool", author="tool", content=content) | more


def send(*bodies, place=PLACE):
    return generic.append([generic.parse(body, place, f"/events/{at}") for at, body in enumerate(bodies)])


def refusal(*bodies, place=PLACE):
    before = Event.objects.count(), Invocation.objects.count(), Operation.objects.count()
    with pytest.raises(ForgeError) as caught:
        send(*bodies, place=place)
    assert (Event.objects.count(), Invocation.objects.count(), Operation.objects.count()) == before
    return caught.value.code, caught.value.facts


@pytest.fixture(autouse=True)
def _ledger_is_clean(db):
    yield
    assert verify().findings == []


def test_an_agents_events_are_chained_and_marked_as_its_own():
    told = send(event(event_id="e1"), call(), response(), event(status="completed", event_id="end"))
    assert [(one.event_id, one.seq, one.created) for one in told] == [
        ("e1", 1, True), ("call-c1", 2, True), ("response-c1", 3, True), ("end", 4, True),
    ]  # fmt: skip
    assert set(Event.objects.values_list("source", "owner")) == {("agent", "user:ada")}
    home = Invocation.objects.get()
    assert (home.opened_by, bool(home.sealed_at)) == ("agent", True)
    assert Operation.objects.get().state == "answered"


def test_an_exact_repeat_is_accepted_and_other_content_is_not():
    first = event(event_id="e1", ts=5)
    assert send(first)[0].created is True
    assert send(first)[0].created is False
    code, facts = refusal(event(event_id="new"), event(event_id="e1", ts=6))
    assert (code, facts["path"], facts["seq"]) == ("EVENT_CONFLICT", "/events/1", 1)


ODD = [
    ({"mood": "happy"}, "/events/0/mood"),
    ({"ts": True}, "/events/0/ts"),
    ({"role": "robot"}, "/events/0/role"),
    ({"turn_id": "a b"}, "/events/0/turn_id"),
    ({"turn_id": ""}, "/events/0/turn_id"),
    ({"status": "unknown"}, "/events/0/status"),
    ({"content": {"kind": "song"}}, "/events/0/content/kind"),
    ({"content": {"kind": "text", "text": 1}}, "/events/0/content/text"),
    ({"content": {"kind": "text"}}, "/events/0/content/text"),
    ({"content": TEXT | {"more": 1}}, "/events/0/content/more"),
    ({"content": {"kind": "function_call", "id": "c", "name": "", "args": 1}}, "/events/0/content/name"),
    ({"actions": {"dance": 1}}, "/events/0/actions/dance"),
    ({"actions": {"end_invocation": 1}}, "/events/0/actions/end_invocation"),
    ({"refs": {"other": "x"}}, "/events/0/refs/other"),
    ({"refs": {"step_id": 1}}, "/events/0/refs/step_id"),
    ({"content": {"kind": "text", "text": "\ud800"}}, "/events/0/content/text"),
    ({"actions": {"state_delta": {"n": 2**53}}}, "/events/0/actions/state_delta/n"),
    ({"actions": {"state_delta": {"n": float("nan")}}}, "/events/0/actions/state_delta/n"),
    ({"partial": True, "status": "completed"}, "/events/0/partial"),
    ({"partial": True, "refs": {"provider_event_id": "p"}}, "/events/0/partial"),
]


@pytest.mark.parametrize(("odd", "path"), ODD)
def test_what_is_not_an_event_is_refused_with_its_place(odd, path):
    code, facts = refusal(event(**odd))
    assert (code, facts["path"]) == ("INVALID_REQUEST", path)


@pytest.mark.parametrize("value", [[], "x", 5, None])
def test_what_is_no_object_is_refused(value):
    assert refusal(value)[0] == "INVALID_REQUEST"


RESERVED = [
    {"actions": {"forge": {"fact": "approval.decided"}}},
    {"refs": {"operation_id": "toolop_x"}},
    {
        "role": "system", "author": "system", "refs": {"operation_id": "o", "tool_call_id": "c"},
        "actions": {"tool_recovery": {"kind": "recovery_decision", "disposition": "completed", "reason": "",
                                      "evidence": [], "attempt": 1}},
    },
    {
        "role": "system", "author": "system", "refs": {"operation_id": "o", "tool_call_id": "c"},
        "actions": {"tool_dispatch": {"operation_id": "o", "tool_call_id": "c", "tool": "t", "args_digest": "d",
                                      "recovery_mode": "reconcile", "attempt": 1}},
    },
]  # fmt: skip


@pytest.mark.parametrize("body", RESERVED)
def test_facts_of_the_tool_boundary_are_reserved(body):
    given = event(**body)
    if "role" in body:
        del given["content"]
    assert refusal(given)[0] == "RESERVED_FACT"
    bound = response(refs={"operation_id": "o", "tool_call_id": "c1"})
    assert refusal(call(), bound)[0] == "RESERVED_FACT"


@pytest.mark.parametrize("name", ["exec_{}_finished", "exec_{}~1_finished", "toolop_{}_call", "toolop_{}_dispatch_1"])
def test_the_names_of_forges_own_events_are_reserved(name):
    """Events are unique by owner: under such a name the end of an execution could not be written any more."""
    given = call() | {"event_id": name.format("0" * 32)}
    assert refusal(given)[0] == "RESERVED_FACT"


def test_forges_invocations_are_reserved():
    with writing("forges", opening=identity("forges")) as page:
        page.add(fact("one"))
    for name in ("forges", "forge:governance", "a~1", "exec_" + "0" * 32):
        code, facts = refusal(event(event_id="fine", invocation_id="other"), event(invocation_id=name))
        assert (code, facts["path"].startswith("/events/1")) == ("RESERVED_INVOCATION", True)


@pytest.mark.parametrize(
    "change",
    [{"status": "completed"}, {"branch": "b"}, {"partial": True}, {"role": "user"}, {"author": "tool"},
     {"refs": {"tool_call_id": "other"}}],
)  # fmt: skip
def test_a_call_stays_in_its_lane(change):
    code, facts = refusal(call() | change)
    assert (code, facts["scan"]) == ("OPERATION_CONFLICT", "lane_conflict")


def test_an_invocation_has_one_identity_and_one_owner():
    send(event())
    bob = generic.Place(owner="user:bob", source="agent", session_id="s", run_id="r")
    assert refusal(event(), place=bob)[0] == "INVOCATION_IDENTITY_CONFLICT"
    assert refusal(event(turn_id="other"))[0] == "INVOCATION_IDENTITY_CONFLICT"
    assert refusal(event(session_id="other"))[1]["path"] == "/events/0/session_id"
    assert refusal(event(invocation_id="j"), event(invocation_id="j", turn_id="x"))[1]["path"] == "/events/1"
    assert send(event(invocation_id="k"))[0].created  # others go on


def test_nothing_follows_the_end():
    send(event(status="failed", event_id="end"))
    assert send(event(status="failed", event_id="end"))[0].created is False
    for late in (event(event_id="late"), event(event_id="end2", status="completed")):
        code, facts = refusal(event(invocation_id="j"), late)
        assert (code, facts["path"]) == ("INVOCATION_SEALED", "/events/1")


SCANS = [
    ([response()], "orphan_response"),
    ([response(), call()], "orphan_response"),
    ([call(), call() | {"event_id": "again"}], "duplicate_call"),
    ([call(), response(), response() | {"event_id": "again"}], "duplicate_response"),
    ([call(), response() | {"content": response()["content"] | {"name": "other"}}], "identity_conflict"),
]


@pytest.mark.parametrize(("bodies", "scan"), SCANS)
def test_calls_and_responses_come_once_and_in_order(bodies, scan):
    code, facts = refusal(*bodies)
    assert (code, facts["scan"]) == ("OPERATION_CONFLICT", scan)
    assert facts["path"].startswith("/events/")


def test_a_permission_decision_is_kept_as_a_claim_of_its_agent():
    send(event(actions={"permission_decision": {"allow": True}}))
    assert Event.objects.get().source == "agent"


def test_forges_own_writers_keep_to_the_schema_too():
    tool = Tool(operation_id="toolop_a", call_id="a b", tool="t", args={}, args_digest="d", recovery_mode="reconcile")
    with pytest.raises(ForgeError), writing("a", opening=identity("a")) as page:
        operations.request(page, tool)
