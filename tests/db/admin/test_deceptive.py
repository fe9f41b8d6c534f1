"""Every deceptive text of tests/data on every screen where people meet it: written out or flagged, its bytes kept."""

import html
import json
from io import StringIO

import pytest

from approvals.models import Approval
from approvals.services import Answer
from approvals.services import answer as reply
from executions.capabilities.workspace import names
from executions.models import Execution, Workspace, WorkspaceAccess
from executions.services import sealed
from forge_project.kernel import visible
from forge_project.kernel.errors import Invalid
from tests.db.admin import QUEUE, page_of
from tests.db.approvals import asked_about
from tests.db.commands import run
from tests.db.executions import answer, run_all, send
from tests.db.executions.conftest import runtime, zygotes  # noqa: F401  # fixtures
from tests.people import PASSWORD
from tests.sites import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = json.loads((ROOT / "tests/data/deceptive-strings.json").read_text())
# What a page or a terminal must never get from an agent; newline and tab are judged by where they stand.
RAW = {c for one in TEXTS for c in one["text"] if visible.hidden(c)} - {"\r"}


@pytest.fixture
def asked(robo, ann, tmp_path, runtime, settings):  # noqa: F811
    """Each text as purpose and content, and as path where a path may be so: (its record, its approval)."""
    settings.FORGE_CALLER_PENDING = settings.FORGE_CALLER_QUEUED = 500
    (tmp_path / "ws").mkdir()
    place = Workspace.objects.create(name="ws", path=str(tmp_path / "ws"), hosts=["test-host"])
    WorkspaceAccess.objects.create(workspace=place, user=robo)
    found = []
    for n, one in enumerate(TEXTS):
        body = {"path": f"{n}/{one['text']}.txt", "content": f"{one['text']}\nmore\n"}
        told = {"capability": "file.write", "workspace": "ws", "purpose": one["text"], "task_id": f"task-{n}"}
        (tmp_path / "ws" / str(n)).mkdir()
        if not is_path(body["path"]):
            body["path"] = f"{n}/plain.txt"
        found.append((one, send(robo, key=f"k{n}", input=body, **told).ref))
    run_all(runtime)
    return [(one, Approval.objects.get(execution_ref=ref)) for one, ref in found]


def is_path(text):
    """Control characters and backslashes are refused in paths."""
    try:
        names.split(text)
    except Invalid:
        return False
    return True


def judge(one, text, where):
    """What is wrong with how `text` shows it: raw characters, or nothing that names them."""
    raw = sorted(f"U+{ord(c):04X}" for c in RAW if c in text)
    codes = {c for c in one["text"] if not c.isascii() or visible.hidden(c) or c == "\r"}
    shown = [c for c in codes if visible.code(c) in text or f"U+{ord(c):04X}" in text]
    quiet = [] if not codes or len(shown) == len(codes) else [f"U+{ord(c):04X}" for c in codes if c not in shown]
    return [f"{where}: {one['kind']}, {one['name']}: raw {raw}, not named {quiet}"] if raw or quiet else []


def test_there_are_sixty_of_them_and_more():
    assert len(TEXTS) >= 60
    assert len({one["text"] for one in TEXTS}) == len(TEXTS)


def test_every_text_on_every_screen(asked, logged_in, ann, aude, monkeypatch, tmp_path, runtime):  # noqa: F811
    client, auditor, wrong = logged_in(ann), logged_in(aude), []
    in_the_queue(asked, client)
    for one, row in asked:
        decision = html.unescape(client.get(page_of(row)).content.decode())
        wrong += judge(one, decision, "decision")
        assert visible.said(one["text"]) in decision
        story = auditor.get(f"/admin/executions/execution/{row.execution_ref}/audit/").content.decode()
        wrong += judge(one, html.unescape(story), "audit")
        wrong += judge(one, run("audit", row.execution_ref)[1], "audit command")
        monkeypatch.setattr("sys.stdin", StringIO(f"{PASSWORD}\n"))
        terminal = run("approvals", "show", row.ref, "--user", "ann")[1]
        wrong += judge(one, terminal, "command")
        if one["kind"] in ("padding", "newlines") and one["name"] not in ("a forged line", "CR overwrites"):
            flagged = "long runs of blanks" in decision or "code points" in decision
            wrong += (
                [] if flagged and ("long runs" in terminal or "code points" in terminal) else [f"{one} not flagged"]
            )
        for line in terminal.splitlines():  # whatever it says, it begins no line of its own
            assert not line.startswith(("Risk", "Approved by", "approve me", "and now")), line
    assert wrong == []
    bytes_are_kept(asked, tmp_path, ann, runtime)


def in_the_queue(asked, client):
    pages = "".join(html.unescape(client.get(f"{QUEUE}?p={n}").content.decode()) for n in (1, 2))
    assert not [f"U+{ord(c):04X}" for c in RAW if c in pages]
    for one, row in asked:
        if "plain.txt" not in row.target:
            assert visible.folded(visible.name(one["text"])[0]) in pages


def test_every_text_as_an_answer(asked, logged_in, ann, monkeypatch):
    client, wrong = logged_in(ann), []
    for one, row in asked[::2]:
        plain = one | {"text": one["text"].replace("\0", "")}
        if not plain["text"].strip():
            continue
        asked_about(row, ann, "Why?")
        reply(Answer(approval_ref=row.ref, actor=row.caller, n=1, text=plain["text"]))
        told = html.unescape(client.get(page_of(row)).content.decode())
        wrong += judge(plain, told, "decision")
        assert visible.said(plain["text"].strip()) in told.split('id="forge-asked"')[1]
        monkeypatch.setattr("sys.stdin", StringIO(f"{PASSWORD}\n"))
        terminal = run("approvals", "show", row.ref, "--user", "ann")[1]
        wrong += judge(plain, terminal, "command")
        for line in terminal.splitlines():
            assert not line.startswith(("Risk", "Approved by", "approve me", "and now")), line
    assert wrong == []


def bytes_are_kept(asked, tmp_path, ann, runtime):  # noqa: F811
    for one, row in asked:
        execution = Execution.objects.get(pk=row.execution_ref)
        kept = sealed.unseal(execution.calls.get().sealed_input)
        assert kept["content"] == f"{one['text']}\nmore\n"
        assert row.purpose == one["text"]
        answer(row, ann)
    run_all(runtime)
    for n, (one, row) in enumerate(asked):
        name = "plain" if "plain.txt" in row.target else one["text"]
        assert (tmp_path / "ws" / str(n) / f"{name}.txt").read_bytes() == f"{one['text']}\nmore\n".encode()
