"""What holds for every registered capability, whoever adds it."""

import time

import pytest
from jsonschema import Draft202012Validator

from executions.capabilities import preview, registry, visible
from executions.capabilities.base import Effect, validate_input

from .conftest import Boundary, Refused
from .test_patch import PROPOSE

ALL = registry.load().all()
DIFF = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-old\n+new\n--- /dev/null\n+++ b/d/b\n@@ -0,0 +1 @@\n+x\n"
# One working input each: a capability without one fails here, and that is the point.
INPUTS = {
    "file.read": {"path": "a.txt"},
    "file.list": {},
    "file.searchText": {"query": "old"},
    "file.write": {"path": "n/e/w.txt", "content": "new", "create_parents": True},
    "artifact.patch-proposal.materialize": {"diff": DIFF},
    "sleep": {"ms": 5},
    "patch.apply": {"artifact_ref": "art_" + "0" * 32},
}


@pytest.fixture
def ready(bench):
    bench.write("a.txt", "old\n")
    bench.store.put(bench.run(PROPOSE, diff=DIFF).artifacts[0])
    return bench


@pytest.mark.parametrize("capability", ALL, ids=lambda capability: capability.name)
def test_it_is_described_observes_without_effect_and_answers_by_its_schema(ready, capability):
    input_ = INPUTS[capability.name]
    validate_input(capability, input_)
    before, request = ready.tree(), ready.request(**input_)
    seen = capability.observe(request)
    shown = capability.describe(request, seen)
    assert shown.sentence
    assert shown.target
    assert shown.preview["kind"] in {"diff", "text", "none"}
    assert ready.tree() == before
    boundary = Boundary()
    outcome = capability.execute(request, boundary)
    Draft202012Validator(capability.result_schema).validate(outcome.result_with(["art_x"] * len(outcome.artifacts)))
    effectful = capability.effect not in {Effect.READ, Effect.INTERNAL}
    assert boundary.begun == ([seen] if effectful else [])
    assert outcome.effect_applied is effectful
    assert effectful is (ready.tree() != before)


@pytest.mark.parametrize("capability", ALL, ids=lambda capability: capability.name)
def test_it_crosses_the_boundary_before_its_first_effect(ready, capability):
    before = ready.tree()
    request = ready.request(**INPUTS[capability.name])
    if capability.effect in {Effect.READ, Effect.INTERNAL}:
        capability.execute(request, Boundary(refuse=True))
    else:
        with pytest.raises(Refused):
            capability.execute(request, Boundary(refuse=True))
    assert ready.tree() == before


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a.txt", "a.txt"), ("документ.txt", "документ.txt"), ("日本語", "日本語"), ("pаypal", "p\\u{0430}ypal"),
        ("сео", "\\u{0441}\\u{0435}\\u{043E}"), ("ａ", "\\u{FF41}"), ("x\u00a0y", "x\\u{00A0}y"),
        ("ﬁle", "\\u{FB01}le"),
        ("a\U000e0041", "a\\u{E0041}"), ("a\u3164", "a\\u{3164}"), ("κόσμος", "κόσμος"), ("ο", "\\u{03BF}"),
    ],
)  # fmt: skip
def test_names_show_what_imitates_or_hides(text, shown):
    assert visible.name(text)[0] == shown


def test_content_keeps_writing_and_shows_what_hides():
    assert visible.content("Привет\tмир\r\n日本\n") == ("Привет\tмир\r\n日本\n", ())
    assert visible.content("a\rb\x1b[31m") == ("a\\u{000D}b\\u{001B}[31m", ("U+000D", "U+001B"))


def test_a_preview_of_hostile_files_is_whole_and_quick():
    old = b"".join(b"%d\n" % (n % 97) for n in range(60_000))
    new = b"".join(b"%d\n" % (n * 31 % 89) for n in range(60_000))
    started = time.monotonic()
    text = preview.changes([preview.FileChange("f", old, new)])[0]["text"]
    assert time.monotonic() - started < 5
    lines = text.split("\n")[3:-1]
    assert sum(line[0] in " -" for line in lines) == 60_000
    assert sum(line[0] in " +" for line in lines) == 60_000


def test_a_binary_preview_holds_every_byte_and_says_so():
    shown, warnings = preview.changes([preview.FileChange("f", None, b"\xff\0")])
    assert shown["text"] == "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+/wA=\n"
    assert "f is not text" in warnings
