"""What the demo counts with sees more than one effect; a claim that does not hold is said and fails."""

import os
from types import SimpleNamespace

import pytest

from executions.services.demo import story
from executions.services.demo.watch import Watch
from forge_project.kernel.canonical import sha256


def rename(folder, name, content):
    (folder / ".aside").write_text(content)
    os.rename(folder / ".aside", folder / name)


def test_a_rename_of_the_same_content_counts(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("old")
    with Watch(tmp_path) as watch:
        assert (watch.renamed(), watch.changed()) == ([], [])
        rename(tmp_path / "deep", "a", "new")
        rename(tmp_path / "deep", "a", "new")
        assert (watch.renamed(), watch.changed()) == (["deep/a", "deep/a"], ["deep/a"])
        assert watch.renamed() == []


@pytest.mark.parametrize(
    ("renames", "dispatched", "claimed", "held"),
    [(1, 1, "new", True), (2, 1, "new", False), (0, 0, "old", False), (1, 0, "new", False), (1, 1, "other", False)],
)
def test_every_claim_is_looked_at(tmp_path, monkeypatch, renames, dispatched, claimed, held):
    (tmp_path / "README.md").write_text("old")
    report = SimpleNamespace(events=44, findings=[])
    monkeypatch.setattr(story, "audit", lambda ref: {"events": []})
    monkeypatch.setattr(story, "verify", lambda: report)
    monkeypatch.setattr(story, "_dispatched", lambda: dispatched)
    told = []
    with Watch(tmp_path) as watch:
        for _ in range(renames):
            rename(tmp_path, "README.md", "new")
        record = {"result": {"after": sha256(claimed.encode())}}
        stage = SimpleNamespace(project=tmp_path)
        assert story.check(stage, watch, "exec_x", record, told.append) is held
    assert any(line.startswith("NOT HELD") for line in told) is not held


@pytest.mark.parametrize(("events", "findings"), [(10, []), (44, ["broken"])])
def test_the_ledger_must_verify(tmp_path, monkeypatch, events, findings):
    (tmp_path / "README.md").write_text("old")
    monkeypatch.setattr(story, "audit", lambda ref: {"events": []})
    monkeypatch.setattr(story, "verify", lambda: SimpleNamespace(events=events, findings=findings))
    monkeypatch.setattr(story, "_dispatched", lambda: 1)
    told = []
    with Watch(tmp_path) as watch:
        rename(tmp_path, "README.md", "new")
        record = {"result": {"after": sha256(b"new")}}
        assert not story.check(SimpleNamespace(project=tmp_path), watch, "exec_x", record, told.append)
    assert any(line.startswith("NOT HELD: ledger verified") for line in told)
