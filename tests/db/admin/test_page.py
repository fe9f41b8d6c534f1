import json
import re

import pytest

from approvals import around, ports
from approvals.admin import diff
from tests.db.admin import QUEUE, page_of
from tests.db.approvals import answer as decided
from tests.db.approvals import pending

pytestmark = pytest.mark.django_db

EVIL = "safe\u202etxt.exe\u200b\u2060\ufeff\x1b[31m\u2066<script>alert(1)</script>"
HIDDEN = "\u202e\u200b\u2060\ufeff\x1b\u2066"


def html(client, url, status=200):
    got = client.get(url)
    assert got.status_code == status
    assert "default-src 'self'" in got["Content-Security-Policy"]
    return got.content.decode()


def test_deceptive_text_is_written_out_wherever_it_stands(logged_in, ann, robo):
    row = pending(
        robo, purpose=EVIL, target=EVIL, sentence=EVIL, warnings=[EVIL],
        preview={"kind": "diff", "text": f"--- a/x\n+++ b/x\n@@ -0,0 +1,1 @@\n+{EVIL}\n"},
    )  # fmt: skip
    client = logged_in(ann)
    for url in (QUEUE, page_of(row)):
        shown = html(client, url)
        assert not set(HIDDEN) & set(shown)
        assert "\\u{202E}txt.exe\\u{200B}\\u{2060}\\u{FEFF}\\u{001B}[31m\\u{2066}&lt;script&gt;" in shown
        assert "<script>alert" not in shown
    shown = html(client, page_of(row))
    assert shown.count("\\u{202E}") == 5  # purpose, target, sentence, warning, diff


def test_no_agents_text_in_titles_and_breadcrumbs(logged_in, ann, robo):
    row = pending(robo, purpose="approve-me-now", target="approve-me-now")
    shown = html(logged_in(ann), page_of(row))
    for start, end in (("<title>", "</title>"), ('<nav aria-label="Breadcrumbs">', "</nav>"), ("<h1>", "</h1>")):
        assert "approve-me-now" not in shown.split(start)[1].split(end)[0]
    assert "approve-me-now" not in str(row)


def test_nothing_of_the_change_is_cut_off(logged_in, ann, robo):
    text = "--- a/x\n+++ b/x\n@@ -0,0 +1,5000 @@\n" + "".join(f"+line {n} {'y' * 500}\n" for n in range(5000))
    shown = html(logged_in(ann), page_of(pending(robo, preview={"kind": "diff", "text": text})))
    assert all(f">+line {n} {'y' * 500}<" in shown for n in (0, 2500, 4999))


def test_the_signs_of_a_diff_and_not_its_looks_make_the_kinds():
    text = (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n same\n--- a/trick\n-old\n+++ b/trick\n+new\r\n"
        "\\ No newline at end of file\n--- a/y\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n"
    )
    assert [(line.kind, line.text) for line in diff.lines(json.dumps({"kind": "diff", "text": text}))] == [
        ("file", "--- a/x"), ("file", "+++ b/x"), ("hunk", "@@ -1,3 +1,3 @@"), ("same", " same"),
        ("del", "--- a/trick"), ("del", "-old"), ("add", "+++ b/trick"), ("add", "+new\\u{000D}"),
        ("note", "\\ No newline at end of file"), ("file", "--- a/y"), ("file", "+++ /dev/null"),
        ("hunk", "@@ -1,1 +0,0 @@"), ("del", "-gone"),
    ]  # fmt: skip


@pytest.mark.parametrize("preview", [{"kind": "text", "text": "a\nb"}, {"kind": "other", "n": [1, "a"]}, [], "x"])
def test_any_other_preview_is_shown_whole(preview):
    shown = "\n".join(line.text for line in diff.lines(json.dumps(preview)))
    assert shown == "a\nb" if isinstance(preview, dict) and preview["kind"] == "text" else json.loads(shown) == preview


@pytest.mark.parametrize(("holds", "said"), [
    (True, "still as it was"), (False, "has changed"), (None, "cannot be looked at"),
])  # fmt: skip
def test_whether_the_world_is_still_the_same(logged_in, ann, asked, monkeypatch, holds, said):
    monkeypatch.setattr(ports, "still_holds", lambda row: holds)
    shown = html(logged_in(ann), page_of(asked))
    assert said in shown
    assert ("The world has changed since this was asked" in shown) == (holds is False)


def test_the_page_says_what_it_is_tied_to_and_that_the_ledger_holds(logged_in, ann, asked):
    shown = html(logged_in(ann), page_of(asked))
    for said in (asked.fingerprint, "version 1", "Write a.txt", "new file", "an agent of owen", "call 1",
                 "approval.requested", "✓ verified", "medium risk", "23 h 59 min left"):  # fmt: skip
        assert said in shown


def test_a_broken_chain_is_no_green_mark(logged_in, ann, asked, monkeypatch):
    from approvals.admin import history
    from forge_project.ledger.verify import Finding, Report

    found = Finding(invocation="exec-1", seq=1, problem="edited")
    monkeypatch.setattr(history, "verify", lambda ref: Report(events=1, invocations=1, findings=[found]))
    shown = html(logged_in(ann), page_of(asked))
    assert "edited at seq 1" in shown
    assert "✗ not verified" in shown
    assert "✓" not in shown


def test_a_denial_of_the_same_is_remembered(logged_in, ann, robo):
    decided(pending(robo), ann, "deny", reason="never in main")
    shown = html(logged_in(ann), page_of(pending(robo, "exec-2")))
    assert "denied before, by ann: never in main" in shown


def test_the_queue_is_what_waits_for_me(logged_in, ann, owen, robo):
    rows = [pending(robo, f"exec-{n}") for n in range(3)]
    decided(rows[1], ann)

    def listed(person, query=""):
        found = logged_in(person).get(QUEUE + query)
        return [row.ref for row in found.context["cl"].result_list]

    assert listed(ann) == [rows[0].ref, rows[2].ref]  # oldest first
    assert listed(ann, "?state=approved") == [rows[1].ref]
    assert listed(ann, "?state=all") == [row.ref for row in reversed(rows)]
    assert listed(ann, "?state=nonsense") == listed(owen) == []
    shown = html(logged_in(ann), QUEUE)
    assert "Waiting for me (2)" in shown
    assert "Approved (1)" in shown
    link = re.search(r'href="(/admin/approvals/approval/[^"]+/change/[^"]*)"', shown)[1]
    assert "Approve once" in html(logged_in(ann), link)


def test_there_is_no_bulk_answer_and_no_editing(logged_in, ann, asked):
    shown = html(logged_in(ann), QUEUE)
    assert 'name="action"' not in shown
    for url in (f"{QUEUE}add/", f"{QUEUE}{asked.ref}/delete/"):
        html(logged_in(ann), url, 403)


def test_what_stands_around_the_call_is_said(logged_in, ann, robo, monkeypatch):
    from approvals.around import Around

    row = pending(robo, "exec-2", n=3)
    monkeypatch.setattr(around, "of", lambda refs: {"exec-2": Around(task="fix-7", calls=3, done=2)})
    monkeypatch.setattr(around, "input_of", lambda row: {"path": "a\u202e.txt", "query": "whole"})
    shown = html(logged_in(ann), page_of(row))
    for said in ("call 3 (3 made so far, 2 done)", "<code>fix-7</code>", "a\\u{202E}.txt", "&quot;whole&quot;"):
        assert said in shown


def test_the_last_decisions_for_caller_and_capability(logged_in, ann, robo):
    assert "Nothing yet." in html(logged_in(ann), page_of(pending(robo)))
    for n in range(7):
        row = pending(robo, f"exec-1{n}", target=f"t{n}.txt", input={"n": n})
        decided(row, ann, "deny" if n % 2 else "approve", reason=f"why {n}")
    decided(pending(robo, "exec-30", capability="patch.apply", target="other.txt"), ann)
    shown = html(logged_in(ann), page_of(pending(robo, "exec-9", input={"n": 99})))
    part = shown.split('id="last"')[1].split("</section>")[0]
    assert [n for n in range(7) if f"<code>t{n}.txt</code>" in part] == [2, 3, 4, 5, 6]  # the last five
    assert "denied</a> by ann" in part
    assert "why 5" in part
    assert "other.txt" not in part


def test_many_files_are_listed_in_the_diffs_order(logged_in, ann, robo):
    text = (
        "--- a/Makefile\n+++ b/Makefile\n@@ -1,1 +1,2 @@\n-x\n+y\n+z\n"
        "--- a/gone.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n"
        "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,1 @@\n+++ b/trick\n"
    )
    row = pending(robo, preview={"kind": "diff", "text": text})
    listed = diff.files(diff.lines(row.preview))
    assert [(one["name"], one["add"], one["del"]) for one in listed] == [
        ("Makefile", 2, 1), ("gone.txt", 0, 1), ("new.txt", 1, 0),
    ]  # fmt: skip
    assert "3 files; those that builds" in html(logged_in(ann), page_of(row))


@pytest.mark.parametrize(("changes", "warned"), [
    ({"target": "p\u0430ypal.txt"}, "The target: characters that look like others: U+0430"),
    ({"target": "a\u202eb"}, "The target: hidden characters, shown as code points: U+202E"),
    ({"purpose": "\u0441lean up"}, "The agent&#x27;s own words: characters that look like others: U+0441"),
    ({"preview": {"kind": "diff", "text": "+if \uff55ser:\n"}}, "The change: characters that look like others: U+FF55"),
    ({"preview": {"kind": "diff", "text": f"+ok{' ' * 90}; rm -rf\n"}}, "The change: long runs of blanks"),
    ({"purpose": "fine" + "\n" * 60 + "but"}, "long runs of blanks or empty lines"),
])  # fmt: skip
def test_what_deceives_is_warned_of(logged_in, ann, robo, changes, warned):
    assert warned in html(logged_in(ann), page_of(pending(robo, **changes)))


def test_what_became_of_the_call_is_told_after_the_decision(logged_in, ann, asked, monkeypatch):
    monkeypatch.setattr(around, "came_of", lambda row: "The call ended as succeeded; its effect: applied.")
    assert "its effect: applied" not in html(logged_in(ann), page_of(asked))
    decided(asked, ann)
    assert "its effect: applied" in html(logged_in(ann), page_of(asked))


def test_votes_are_told(logged_in, ann, asked):
    assert "votes: 0 of 1" in html(logged_in(ann), page_of(asked))
    assert '<td class="field-votes">0 of 1</td>' in html(logged_in(ann), QUEUE)
    decided(asked, ann)
    assert "votes: 1 of 1" in html(logged_in(ann), page_of(asked))
