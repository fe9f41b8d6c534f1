"""Hard rules of files: what no spelling, link or race may reach."""

import os
import threading
import time

import pytest

from executions.capabilities.files import FileList, FileRead
from executions.capabilities.search import FileSearchText
from executions.capabilities.values import Request
from executions.capabilities.workspace import head, names
from executions.capabilities.workspace.tree import Tree
from executions.capabilities.write import FileWrite
from forge_project.kernel.errors import Denied, ForgeError, Invalid, Missing, NotReady

SECRET = "outside bytes"


def refusal(kind, call, *args, **kwargs):
    with pytest.raises(kind) as fault:
        call(*args, **kwargs)
    return fault.value.facts["rule"]


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("", "path.empty"), ("a\0b", "path.nul"), ("a\nb", "path.control"), ("a\x1b[1m", "path.control"),
        ("/etc/passwd", "path.absolute"), ("//x", "path.absolute"), ("C:x", "path.absolute"), ("c:/x", "path.absolute"),
        ("..", "path.parent"), ("../a-evil/x", "path.parent"), ("a/../b", "path.parent"), ("a/..", "path.parent"),
        ("..\\x", "path.backslash"), ("a\\b", "path.backslash"), ("./a", "path.spelling"), ("a//b", "path.spelling"),
        ("a/", "path.spelling"), (".", "path.spelling"), ("a\ud800", "path.encoding"), ("a" * 256, "path.long"),
        ("é" * 128, "path.long"), ("a/" * 600 + "a", "path.long"),
    ],
)  # fmt: skip
def test_c061_c091_a_path_has_one_spelling(path, rule):
    assert refusal(Invalid, names.split, path) == rule


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".GIT/config", "sub/.Git/hooks/x", ".git", ".g\u200cit/config", ".git./x", ".git /x", "．git/x",
        ".git::$INDEX_ALLOCATION/x", "GIT~1/x", ".\ufeffgit/x", ".ENV", ".env", ".env.production", ".Env.Local",
        ".SSH/Authorized_Keys", ".ſſh/id", ".aws/credentials", ".netrc", ".forge-toolop_1.0", ".FORGE-x", ".hg/x",
        ".g\u00adit/x", ".gi\ufe00t/x", ".git-credentials", "a/.docker/config.json", ".git\u034f/x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("capability", [FileRead(), FileWrite()])
def test_c070_c071_protected_names_in_any_form(bench, path, capability):
    extra = {"content": "x", "create_parents": True} if isinstance(capability, FileWrite) else {}
    before = bench.tree()
    assert refusal(Denied, bench.observe, capability, path=path, **extra) == "path.protected"
    assert refusal(Denied, bench.run, capability, path=path, **extra) == "path.protected"
    assert bench.tree() == before


@pytest.mark.parametrize(
    "path", [".gitignore", ".github/workflows/ci.yml", ".env.example", "git", "env", "a.git", "..a"]
)
def test_harmless_names_are_not_protected(path):
    assert names.granted(path)


@pytest.mark.parametrize("path", [".git", "a/.GIT", ".env", ".ssh"])
def test_protected_names_are_neither_listed_nor_searched_when_asked_for(bench, path):
    bench.write(f"{path}/x", SECRET)
    assert refusal(Denied, bench.run, FileList(), path=path) == "path.protected"
    assert refusal(Denied, bench.observe, FileSearchText(), query="o", paths=[path]) == "path.protected"
    assert refusal(Denied, bench.run, FileSearchText(), query="o", paths=[path]) == "path.protected"


@pytest.mark.usefixtures("both_ways")
def test_c060_links_are_never_followed(bench, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "x").write_text(SECRET)
    bench.write("real/x", "inside")
    for link, target in {
        "out": "/etc/passwd",
        "up": "../secret",
        "outdir": "../dir",
        "in": "real/x",
        "indir": "real",
    }.items():
        os.symlink(target, bench.root / link)
    os.symlink("..", bench.root / "real" / "up")
    expected = {
        "out": "path.outside", "up": "path.outside", "outdir/x": "path.outside", "in": "path.symlink",
        "indir/x": "path.symlink", "real/up": "path.symlink", "real/up/real/x": "path.symlink",
    }  # fmt: skip
    for path, rule in expected.items():
        assert refusal(Denied, bench.run, FileRead(), path=path) == rule
        assert refusal(Denied, bench.observe, FileRead(), path=path) == rule
        assert refusal(Denied, bench.run, FileWrite(), path=path, content="y") == rule
    assert refusal(Denied, bench.run, FileList(), path="outdir") == "path.outside"
    assert refusal(Denied, bench.run, FileSearchText(), query="o", paths=["outdir"]) == "path.outside"
    found = bench.run(FileSearchText(), query="inside").result["matches"]
    assert [match["path"] for match in found] == ["real/x"]
    assert bench.run(FileSearchText(), query=SECRET).result["matches"] == []
    entries = {e["path"]: e["type"] for e in bench.run(FileList(), depth=5).result["entries"]}
    assert entries["outdir"] == "symlink"
    assert "outdir/x" not in entries
    assert (tmp_path / "secret").read_text() == SECRET


@pytest.mark.usefixtures("both_ways")
def test_c067_special_files_are_refused_at_once(bench):
    os.mkfifo(bench.root / "fifo")
    started = time.monotonic()
    assert refusal(Denied, bench.run, FileRead(), path="fifo") == "path.not_regular"
    assert refusal(Denied, bench.run, FileWrite(), path="fifo", content="x") == "path.not_regular"
    assert bench.run(FileSearchText(), query="x").result["matches"] == []
    assert time.monotonic() - started < 5
    (bench.root / "d").mkdir()
    assert refusal(Denied, bench.run, FileRead(), path="d") == "path.not_regular"
    assert refusal(Denied, bench.run, FileWrite(), path="d", content="x") == "path.not_regular"


@pytest.mark.usefixtures("both_ways")
def test_absent_things_and_files_used_as_directories(bench):
    bench.write("a", "x")
    assert refusal(Missing, bench.run, FileRead(), path="b") == "path.missing"
    assert refusal(Missing, bench.run, FileRead(), path="b/c") == "path.missing"
    assert refusal(Missing, bench.run, FileRead(), path="a/c") == "path.not_directory"
    assert (
        refusal(Missing, bench.run, FileWrite(), path="a/c/d", content="", create_parents=True) == "path.not_directory"
    )
    assert refusal(Missing, bench.run, FileList(), path="a") == "path.not_directory"


def test_c063_c064_a_hard_link_is_read_but_never_written(bench, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text(SECRET)
    os.link(outside, bench.root / "alias")
    assert bench.run(FileRead(), path="alias").result["content"] == SECRET  # policy: reading is allowed
    assert refusal(Denied, bench.run, FileWrite(), path="alias", content="x") == "path.hardlink"
    assert outside.read_text() == SECRET


def test_c072_without_a_workspace_everything_is_refused(bench):
    request = Request(
        input={"path": "etc/passwd"}, operation_id="o", caller_ref="u", workspace=None, scopes={}, artifacts=None
    )
    assert refusal(Denied, FileRead().execute, request, None) == "path.no_workspace"
    bench.root.rmdir()
    with pytest.raises(NotReady):
        bench.run(FileRead(), path="x")


@pytest.mark.usefixtures("both_ways")
def test_c065_swapping_file_and_link_while_reading_leaks_nothing(bench, tmp_path):
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text(SECRET)
    bench.write("d/x", "inside")
    os.symlink("../secret", bench.root / "link")
    os.symlink(tmp_path / "out", bench.root / "dlink")
    stop = threading.Event()

    def swap():
        for n in range(10_000):
            if stop.is_set():
                return
            os.rename(bench.root / "d", bench.root / "d2")
            os.rename(bench.root / "dlink", bench.root / "d")
            os.rename(bench.root / "d", bench.root / "dlink")
            os.rename(bench.root / "d2", bench.root / "d")
            kept = bench.root / f"keep{n % 2}"
            kept.write_text("inside")
            os.rename(kept, bench.root / "x")
            os.symlink("../secret", kept)
            os.rename(kept, bench.root / "x")

    thread = threading.Thread(target=swap)
    thread.start()
    answers = set()
    until = time.monotonic() + 2
    while time.monotonic() < until and thread.is_alive():
        for path in ("d/x", "x"):
            try:
                answers.add(bench.run(FileRead(), path=path).result["content"])
            except ForgeError as refused:
                answers.add(refused.facts["rule"])
    stop.set()
    thread.join()
    assert SECRET not in answers
    assert {"inside"} & answers


def test_c065_searching_during_the_swap_leaks_nothing(bench, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "x").write_text(SECRET)
    bench.write("d/x", "inside bytes")
    os.symlink(tmp_path / "out", bench.root / "dlink")
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            for old, new in (("d", "d2"), ("dlink", "d"), ("d", "dlink"), ("d2", "d")):
                os.rename(bench.root / old, bench.root / new)

    thread = threading.Thread(target=swap)
    thread.start()
    texts = {m["text"] for _ in range(60) for m in bench.run(FileSearchText(), query="bytes").result["matches"]}
    stop.set()
    thread.join()
    assert texts == {"inside bytes"}


def test_head_is_read_without_running_git_or_leaving_the_workspace(bench, tmp_path):
    def commit():
        with Tree(bench.request()) as tree:
            return head.commit(tree)

    assert commit() is None
    bench.write(".git/HEAD", "ref: refs/heads/main\n")
    assert commit() is None
    bench.write(".git/packed-refs", f"# pack-refs with: peeled\n{'b' * 40} refs/heads/main\n^{'c' * 40}\n")
    assert commit() == "b" * 40
    bench.write(".git/refs/heads/main", "a" * 40 + "\n")
    assert commit() == "a" * 40
    bench.write(".git/HEAD", "d" * 40 + "\n")
    assert commit() == "d" * 40
    (tmp_path / "evil").write_text("e" * 40)
    for text in ("ref: refs/../../../evil\n", "ref: refs/heads/self\n", "ref: /etc/passwd", "x" * 9000, "\xff"):
        bench.write(".git/refs/heads/self", "ref: refs/heads/self\n")
        bench.write(".git/HEAD", text)
        assert commit() is None
    os.unlink(bench.root / ".git" / "HEAD")
    os.symlink("../../evil", bench.root / ".git" / "HEAD")
    assert commit() is None


@pytest.mark.parametrize(
    ("given", "plain"),
    [("./secrets/x", "secrets/x"), ("a//b/./c", "a/b/c"), ("a/../secrets/x", "secrets/x"), (".", "."), ("a\\b", "a/b")],
)
def test_rules_see_one_spelling(given, plain):
    assert names.plain(given) == plain


@pytest.mark.parametrize("given", ["../x", "a/../../x", "/etc/passwd", "C:\\x", "a\0b"])
def test_rules_see_no_path_outside(given):
    with pytest.raises(Invalid):
        names.plain(given)
