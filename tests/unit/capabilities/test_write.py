"""file.write: preconditions, the boundary, the way it is shown, and every crash."""

import hashlib
import os
import signal
import stat

import pytest

from executions.capabilities.values import Applied, NotApplied, Unknown
from executions.capabilities.write import MAX_CONTENT, FileWrite
from forge_project.kernel import failpoints
from forge_project.kernel.errors import Conflict, Denied, Invalid, Missing, TooLarge

from .conftest import OPERATION, Boundary, Refused

WRITE = FileWrite()
PLACES = ("effect.before", "effect.middle", "effect.after")


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_creating_and_replacing(bench):
    outcome = bench.run(WRITE, path="a", content="one")
    assert outcome.result == {"path": "a", "sha256": sha("one"), "bytes": 3, "created": True}
    assert outcome.effect_applied
    assert outcome.evidence[0]["after"] == sha("one")
    boundary = Boundary()
    assert bench.run(WRITE, boundary, path="a", content="two").result["created"] is False
    assert boundary.begun == [{"path": "a", "before_hash": sha("one"), "after_hash": sha("two"), "mode": "0644"}]
    assert bench.tree().keys() == {"a"}


def test_base64_content_and_its_faults(bench):
    bench.run(WRITE, path="a", content="/wAB", encoding="base64")
    assert (bench.root / "a").read_bytes() == b"\xff\x00\x01"
    for content, encoding in (("/wA", "base64"), ("a\nb", "base64"), ("\ud800", "utf-8")):
        with pytest.raises(Invalid) as fault:
            bench.observe(WRITE, path="a", content=content, encoding=encoding)
        assert fault.value.facts["path"] == "/content"


def test_mode_is_kept_and_set_id_bits_fall(bench):
    path = bench.write("a", "x")
    path.chmod(0o4751)
    os.chown(path, 12345, 12345) if os.geteuid() == 0 else None
    path.chmod(0o4751)
    bench.run(WRITE, path="a", content="y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert path.stat().st_uid == (12345 if os.geteuid() == 0 else os.getuid())


def test_expected_hash(bench):
    bench.write("a", "x")
    assert bench.observe(WRITE, path="a", content="y", expected_hash=sha("x"))
    for path, expected in (("a", sha("z")), ("a", None), ("b", sha("x"))):
        with pytest.raises(Conflict) as fault:
            bench.observe(WRITE, path=path, content="y", expected_hash=expected)
        assert (fault.value.code, fault.value.facts["rule"]) == ("PRECONDITION_FAILED", "file.expected_hash")
    assert bench.observe(WRITE, path="b", content="y", expected_hash=None)["before_hash"] is None


def test_parents(bench):
    with pytest.raises(Missing) as fault:
        bench.observe(WRITE, path="d/e/a", content="x")
    assert fault.value.facts["rule"] == "path.parent_missing"
    seen = bench.observe(WRITE, path="d/e/a", content="x", create_parents=True)
    assert seen["parents"] == ["d", "d/e"]
    bench.run(WRITE, path="d/e/a", content="x", create_parents=True)
    assert bench.tree().keys() == {"d", "d/e", "d/e/a"}


def test_sizes(bench):
    with pytest.raises(TooLarge):
        bench.observe(WRITE, path="a", content="é" * (MAX_CONTENT // 2 + 1))
    bench.write("big", b"x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(TooLarge):
        bench.observe(WRITE, path="big", content="x")


def test_a_masked_secret_is_not_written_back(bench):
    bench.write("a", "key = [SECRET:db]\n")
    assert bench.observe(WRITE, path="a", content="# kept\nkey = [SECRET:db]\n")
    for content, encoding in (
        ("[SECRET:other]", "utf-8"),
        ("[SECRET:db] [SECRET:db]", "utf-8"),
        ("W1NFQ1JFVDp4XQ==", "base64"),
    ):
        with pytest.raises(Denied) as fault:
            bench.observe(WRITE, path="a", content=content, encoding=encoding)
        assert fault.value.code == "REDACTED_PLACEHOLDER"


def test_a_refusing_boundary_leaves_nothing(bench):
    bench.write("a", "x")
    before = bench.tree()
    for path in ("a", "new", "d/e/f"):
        with pytest.raises(Refused):
            bench.run(WRITE, Boundary(refuse=True), path=path, content="y", create_parents=True)
    assert bench.tree() == before


def test_c146_a_change_while_staging_stops_it(bench, monkeypatch):
    path = bench.write("a", "x")
    stage = FileWrite.execute.__globals__["Stages"].write

    def meddle(self, change):
        stage(self, change)
        path.write_text("someone else")

    monkeypatch.setattr(FileWrite.execute.__globals__["Stages"], "write", meddle)
    boundary = Boundary()
    with pytest.raises(Conflict) as fault:
        bench.run(WRITE, boundary, path="a", content="y")
    assert (fault.value.code, boundary.begun, path.read_text()) == ("PRECONDITION_FAILED", [], "someone else")
    assert bench.tree().keys() == {"a"}


def test_a_file_that_appears_after_the_boundary_is_not_overwritten(bench):
    class Meddling(Boundary):
        def begin(self, precondition):
            bench.write("a", "someone else")

    with pytest.raises(Conflict) as fault:
        bench.run(WRITE, Meddling(), path="a", content="y")
    assert fault.value.code == "PRECONDITION_FAILED"
    assert (bench.root / "a").read_text() == "someone else"


def die_at(place, bench, capability, **input_):
    """Runs it in a child that is killed at a failpoint; answers what the child told its boundary."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)

        class Telling(Boundary):
            def begin(self, precondition):
                os.write(writer, b"begun")

        try:
            failpoints.arm(f"{place}=kill")
            bench.run(capability, Telling(), **input_)
        finally:
            os._exit(3)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        told = stream.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert told == b"begun"


CASES = {
    "replace": ({"path": "a", "content": "new"}, {"a": "old"}),
    "create": ({"path": "b", "content": "new"}, {}),
    "same": ({"path": "a", "content": "old"}, {"a": "old"}),
    "parents": ({"path": "d/e/b", "content": "new", "create_parents": True}, {}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES)
def test_a_real_kill_is_settled_by_looking(bench, place, case):
    input_, files = CASES[case]
    for path, content in files.items():
        bench.write(path, content)
    before = bench.tree()
    seen = bench.observe(WRITE, **input_)
    die_at(place, bench, WRITE, **input_)
    applied = place == "effect.after"
    settled = WRITE.reconcile(bench.request(**input_), seen)
    assert isinstance(settled, Applied if applied else NotApplied)
    if applied:
        assert settled.result["sha256"] == seen["after_hash"]
        assert (bench.root / input_["path"]).read_text() == input_["content"]
    again = WRITE.reconcile(bench.request(**input_), seen)  # looking changes nothing
    assert type(again) is type(settled)
    WRITE.discard(bench.request(**input_), seen)  # once the record says so
    assert not [name for name in bench.tree() if ".forge-" in name]
    if not applied:
        assert bench.tree() == before


def test_a_stage_proves_more_than_what_others_wrote_meanwhile(bench):
    """Killed before its rename, it was not applied, though the file now holds the same; killed after it, it was."""
    input_ = {"path": "a", "content": "new"}
    bench.write("a", "old")
    seen = bench.observe(WRITE, **input_)
    die_at("effect.middle", bench, WRITE, **input_)
    bench.write("a", "new")
    assert isinstance(WRITE.reconcile(bench.request(**input_), seen), NotApplied)
    WRITE.discard(bench.request(**input_), seen)
    bench.write("a", "old")
    die_at("effect.after", bench, WRITE, **input_)
    bench.write("a", "old")
    assert isinstance(WRITE.reconcile(bench.request(**input_), seen), Unknown)


def test_a_third_content_is_unknown_and_the_stage_is_kept_as_evidence(bench):
    bench.write("a", "old")
    seen = bench.observe(WRITE, path="a", content="new")
    die_at("effect.middle", bench, WRITE, path="a", content="new")
    bench.write("a", "third")
    settled = WRITE.reconcile(bench.request(path="a", content="new"), seen)
    assert isinstance(settled, Unknown)
    assert "not renamed" in settled.why
    assert (bench.root / f".forge-{OPERATION}.0").exists()
    os.unlink(bench.root / "a")
    assert isinstance(WRITE.reconcile(bench.request(path="a", content="new"), seen), Unknown)
    os.symlink("x", bench.root / "a")
    assert isinstance(WRITE.reconcile(bench.request(path="a", content="new"), seen), Unknown)


def test_a_stage_never_begun_does_not_disturb_the_next_try(bench):
    bench.write(f".forge-{OPERATION}.0", "half")
    bench.run(WRITE, path="a", content="x")
    assert bench.tree().keys() == {"a"}


def test_description(bench):
    bench.write("a.txt", "12345678")
    shown = WRITE.describe(
        bench.request(path="a.txt", content="hello world!"), bench.observe(WRITE, path="a.txt", content="hello world!")
    )
    assert shown.sentence == "Write 12 bytes to a.txt (currently 8 bytes; content changes)"
    assert (shown.target, shown.reversible, shown.warnings) == ("a.txt", True, ())
    assert shown.preview == {
        "kind": "diff",
        "text": "--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-12345678\n\\ No newline at end of file\n"
        "+hello world!\n\\ No newline at end of file\n",
    }


def test_c138_c139_deceptive_names_and_content_are_shown_as_code_points(bench):
    path, content = "in\u202etxt.exe\u200b", "ok\u2066if\u2069 \ufeff\r\nplain\u200d\n"
    shown = WRITE.describe(bench.request(path=path, content=content), bench.observe(WRITE, path=path, content=content))
    assert "in\\u{202E}txt.exe\\u{200B}" in shown.sentence
    assert "\\u{2066}if\\u{2069} \\u{FEFF}\r\n" in shown.preview["text"]
    assert not {"\u202e", "\u200b", "\u2066"} & set(shown.sentence + shown.preview["text"] + shown.target)
    assert any("U+202E" in warning for warning in shown.warnings)
    assert any("U+2066" in warning for warning in shown.warnings)
    bench.run(WRITE, path=path, content=content)
    assert (bench.root / path).read_bytes() == content.encode()


def test_a_description_of_something_else_than_was_seen_is_refused(bench):
    bench.write("a", "x")
    seen = bench.observe(WRITE, path="a", content="y")
    bench.write("a", "z")
    with pytest.raises(Conflict):
        WRITE.describe(bench.request(path="a", content="y"), seen)


def test_c178_a_full_disk_is_said_and_changes_nothing(bench, monkeypatch):
    bench.write("a", "x")
    before = bench.tree()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Exception, match="disk is full") as fault:
        bench.run(WRITE, path="a", content="y")
    assert fault.value.facts["rule"] == "disk.full"
    assert bench.tree() == before
