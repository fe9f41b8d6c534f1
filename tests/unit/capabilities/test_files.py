"""file.read, file.list and file.searchText: what they answer."""

import hashlib
import json
import os
import time

import pytest

from executions.capabilities import search
from executions.capabilities.files import FileList, FileRead
from executions.capabilities.search import FileSearchText
from executions.capabilities.workspace import walk
from forge_project.kernel.errors import Failed, Invalid


def test_reading_whole(bench):
    bench.write("a.txt", "grüße\n")
    digest = hashlib.sha256("grüße\n".encode()).hexdigest()
    assert bench.run(FileRead(), path="a.txt").result == {
        "path": "a.txt", "content": "grüße\n", "encoding": "utf-8", "bytes": 8, "sha256": digest, "eof": True,
    }  # fmt: skip


def test_c177_pieces_never_cut_a_character_and_join_to_the_whole(bench):
    whole = "a€b" * 300 + "😀é" * 200
    bench.write("a", whole)
    for limit in (4, 5, 6, 7, 1000, 1001, 65536):
        offset, parts = 0, []
        while True:
            piece = bench.run(FileRead(), path="a", offset=offset, limit=limit).result
            parts.append(piece["content"])
            offset += piece["bytes"]
            if piece["eof"]:
                break
        assert "".join(parts) == whole


def test_binary_needs_base64_and_an_offset_beyond_the_end_is_empty(bench):
    bench.write("b", b"\xff\x00\x01")
    with pytest.raises(Invalid) as fault:
        bench.run(FileRead(), path="b")
    assert fault.value.facts["rule"] == "content.encoding"
    assert bench.run(FileRead(), path="b", encoding="base64").result["content"] == "/wAB"
    assert bench.run(FileRead(), path="b", encoding="base64", offset=9).result["eof"] is True


@pytest.mark.parametrize("content", [b"\x01" * 1_048_576, "é".encode() * 600_000, b'"' * 2_000_000])
def test_an_answer_stays_under_four_mebibytes_of_json(bench, content):
    bench.write("a", content)
    answer = bench.run(FileRead(), path="a").result
    assert len(json.dumps(answer)) <= 4 * 1024 * 1024
    assert answer["eof"] is False or answer["bytes"] == len(content)


def test_listing(bench):
    for path in ("a.txt", "d/b.py", "d/e/c.py", ".git/config", ".env", "z"):
        bench.write(path, "12")
    os.symlink("a.txt", bench.root / "link")
    top = bench.run(FileList()).result
    assert top == {
        "entries": [
            {"path": "a.txt", "type": "file", "bytes": 2}, {"path": "d", "type": "directory", "bytes": 0},
            {"path": "link", "type": "symlink", "bytes": 0}, {"path": "z", "type": "file", "bytes": 2},
        ],
        "truncated": False,
    }  # fmt: skip
    paths = [e["path"] for e in bench.run(FileList(), glob="**/*.py").result["entries"]]
    assert paths == ["d/b.py", "d/e/c.py"]
    assert [e["path"] for e in bench.run(FileList(), path="d", glob="*.py").result["entries"]] == ["d/b.py"]
    assert bench.run(FileList(), limit=2).result["truncated"] is True
    assert len(bench.run(FileList(), limit=4).result["entries"]) == 4
    assert bench.run(FileList(), limit=4).result["truncated"] is False


def test_a_name_that_is_no_text_is_listed_escaped(bench):
    with open(os.fsencode(bench.root) + b"/\xff.txt", "wb") as stream:
        stream.write(b"hit")
    assert bench.run(FileList()).result["entries"][0]["path"] == "\\xff.txt"
    assert bench.run(FileSearchText(), query="hit").result["matches"][0]["path"] == "\\xff.txt"


def test_a_walk_is_bounded(bench, monkeypatch):
    for n in range(20):
        bench.write(f"d{n % 3}/{n}", "hit")
    monkeypatch.setattr(walk, "MAX_VISITS", 10)
    assert bench.run(FileList(), depth=3).result["truncated"] is True
    assert bench.run(FileSearchText(), query="hit").result["truncated"] is True


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a.py", True), ("*.py", "d/a.py", False), ("**/*.py", "a.py", True), ("**/*.py", "x/y/a.py", True),
        ("**", "a/b", True), ("a/**/z", "a/z", True), ("a/**/z", "a/b/c/z", True), ("a/**/z", "b/z", False),
        ("?.py", "é.py", True), ("a*b*c", "axxbxxc", True), ("a*b*c", "axxbxx", False), ("src/*", "src", False),
        ("**/**/x", "x", True), ("*", "", False), ("[ab]", "[ab]", True),
    ],
)  # fmt: skip
def test_globs(glob, path, fits):
    assert walk.matches(glob, tuple(path.split("/")) if path else ()) is fits


def test_c075_a_hostile_glob_is_linear():
    started = time.monotonic()
    assert not walk.matches("*a" * 120 + "b", ("a" * 255,))
    assert not walk.matches("**/" * 80 + "b", ("a",) * 32)
    assert time.monotonic() - started < 5


def test_searching(bench):
    bench.write("a.txt", "one\nzwei größe two\r\n")
    bench.write("d/.hidden", "a two\n")
    bench.write(".git/config", "two\n")
    bench.write("n/.GIT/config", "two\n")
    bench.write(".gitignore", "a.txt\n")
    bench.write("bin", b"two\0two")
    assert bench.run(FileSearchText(), query="two").result == {
        "matches": [
            {"path": "a.txt", "line": 2, "column": 12, "text": "zwei größe two"},
            {"path": "d/.hidden", "line": 1, "column": 3, "text": "a two"},
        ],
        "truncated": False,
    }
    assert bench.run(FileSearchText(), query="t.o").result["matches"] == []
    assert len(bench.run(FileSearchText(), query="t.o", regex=True).result["matches"]) == 2
    assert len(bench.run(FileSearchText(), query="two", paths=["d"]).result["matches"]) == 1
    assert len(bench.run(FileSearchText(), query="two", paths=["d", "d/.hidden", "."]).result["matches"]) == 2
    one = bench.run(FileSearchText(), query="two", max_matches=1).result
    assert (len(one["matches"]), one["truncated"]) == (1, True)


@pytest.mark.parametrize("query", ["--help", "-e", "--pre=touch x", "$(touch x)", "--files", "-f/etc/passwd"])
def test_c099_a_query_is_never_an_option(bench, query):
    bench.write("a", f"see {query} here\n")
    assert len(bench.run(FileSearchText(), query=query).result["matches"]) == 1


def test_no_config_file_is_believed(bench, tmp_path, monkeypatch):
    (tmp_path / "rc").write_text("--ignore-case\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rc"))
    bench.write("a", "TWO")
    assert bench.run(FileSearchText(), query="two").result["matches"] == []


@pytest.mark.parametrize("query", ["(", "a{1000000000}", "(?=x)", "(?P<n>a)\\k<n>", "[z-a]"])
def test_a_pattern_outside_the_linear_engine_is_a_bad_request(bench, query):
    bench.write("a", "x")
    with pytest.raises(Invalid) as fault:
        bench.run(FileSearchText(), query=query, regex=True)
    assert fault.value.facts == {"path": "/query", "rule": "search.regex"}


def test_c074_nested_quantifiers_end_in_time(bench):
    bench.write("a", "a" * 100_000 + "!\n")
    started = time.monotonic()
    bench.run(FileSearchText(), query="^(a+)+$", regex=True)
    assert time.monotonic() - started < 5


def test_c074_the_deadline_is_an_error_with_a_code(bench, monkeypatch):
    monkeypatch.setattr(search, "DEADLINE", 0.0)
    bench.write("a", "x")
    with pytest.raises(Failed) as fault:
        bench.run(FileSearchText(), query="x")
    assert (fault.value.code, fault.value.retryable) == ("TIMEOUT", True)


def test_a_flood_of_matches_stays_under_the_answer_limit(bench):
    bench.write("a", ("é" * 500 + "\n") * 4000)
    answer = bench.run(FileSearchText(), query="é", max_matches=10_000).result
    assert answer["truncated"] is True
    assert len(json.dumps(answer)) <= 4 * 1024 * 1024


def test_more_files_than_one_run_takes(bench):
    for n in range(600):
        bench.write(f"{n:04}", "hit\n")
    found = bench.run(FileSearchText(), query="hit").result["matches"]
    assert [match["path"] for match in found] == [f"{n:04}" for n in range(600)]


def test_a_very_long_line_is_shown_around_its_match(bench):
    bench.write("a", "x" * 50_000 + "hit" + "y" * 50_000)
    match = bench.run(FileSearchText(), query="hit").result["matches"][0]
    assert match["column"] == 50_001
    assert "hit" in match["text"]
    assert len(match["text"]) <= 500
