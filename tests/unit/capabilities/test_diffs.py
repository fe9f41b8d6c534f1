"""The diff reader and its application: strict, pure, and never different from git where both accept."""

import random
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executions.capabilities.diffs.apply import apply
from executions.capabilities.diffs.model import PatchRefused
from executions.capabilities.diffs.parse import parse
from forge_project.kernel.errors import Denied, ForgeError, Invalid, TooLarge

TEN = b"".join(b"line %d\n" % n for n in range(1, 11))


def text(path, body, *, old="a/", new="b/"):
    return f"--- {old}{path}\n+++ {new}{path}\n{body}".encode()


def rule(diff, files=None):
    with pytest.raises(ForgeError) as fault:
        apply(files or {}, parse(diff))
    return fault.value.facts.get("rule")


def one(content, body):
    return apply({"f": content}, parse(text("f", body)))["f"]


def test_the_plain_case():
    assert one(TEN, "@@ -2,3 +2,3 @@ words\n line 2\n-line 3\n+LINE 3\n line 4\n") == TEN.replace(b"line 3", b"LINE 3")


def test_git_headers_new_removed_and_mode():
    diff = (
        b"diff --git a/new b/new\nnew file mode 100755\nindex 0000000..e69de29\n"
        b"--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
        b"diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69de29..0000000\n"
        b"--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n"
        b"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        b"diff --git a/void b/void\nnew file mode 100644\nindex 0000000..e69de29\n"
    )
    patch = parse(diff)
    assert apply({"gone": b"y\n", "run": b"r\n"}, patch) == {"new": b"x\n", "gone": None, "run": b"r\n", "void": b""}
    assert {file.path: file.executable for file in patch.files} == {
        "new": True,
        "gone": None,
        "run": True,
        "void": False,
    }


def test_an_empty_context_line_may_be_stripped_even_at_the_end():
    assert one(b"a\n\nb\n", "@@ -1,2 +1,2 @@\n-a\n+c\n\n") == b"c\n\nb\n"
    assert one(b"a\n\nb\n", "@@ -1,2 +1,2 @@\n-a\n+c\n \n\n\n") == b"c\n\nb\n"
    assert one(b"a\n", "@@ -1 +1 @@\n-a\n+b") == b"b\n"


def test_an_empty_file_is_filled_and_no_other():
    assert one(b"", "@@ -0,0 +1 @@\n+x\n") == b"x\n"
    assert rule(text("f", "@@ -0,0 +1 @@\n+x\n"), {"f": b"y\n"}) == "patch.context"
    assert rule(text("f", "@@ -1,0 +2 @@\n+x\n"), {"f": b"y\n"}) == "patch.context"


def test_no_newline_at_the_end_both_ways():
    assert one(b"a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n") == b"a\nb\n"
    assert one(b"a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n") == b"a\nc"
    assert (
        rule(text("f", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"), {"f": b"a\nb\nc\n"})
        == "patch.context"
    )


def test_c082_crlf_is_kept():
    crlf = TEN.replace(b"\n", b"\r\n")
    wanted = crlf.replace(b"line 3", b"LINE 3")
    assert one(crlf, "@@ -2,3 +2,3 @@\n line 2\r\n-line 3\r\n+LINE 3\r\n line 4\r\n") == wanted
    assert one(crlf, "@@ -2,3 +2,3 @@\n line 2\n-line 3\n+LINE 3\n line 4\n") == wanted  # typed with LF
    mixed = crlf.replace(b"line 9\r\n", b"line 9\n")
    body = "@@ -2,3 +2,3 @@\n line 2\n-line 3\n+LINE 3\n line 4\n"
    assert rule(text("f", body), {"f": mixed}) == "patch.context"
    assert (
        one(crlf, "@@ -1,2 +1,2 @@\n line 1\r\n-line 2\r\n+line 2\n line 3\r\n".replace("-1,2 +1,2", "-1,3 +1,3"))
        != crlf
    )


def test_drift_of_ten_lines_and_no_more():
    shifted = b"".join(b"new %d\n" % n for n in range(10)) + TEN
    body = "@@ -3,3 +3,3 @@\n line 3\n-line 4\n+X\n line 5\n"
    assert one(shifted, body) == shifted.replace(b"line 4\n", b"X\n")
    assert rule(text("f", body), {"f": b"more\n" + shifted}) == "patch.drift"


def test_c084_c087_look_alikes_are_ambiguous_off_their_line():
    block = b"{\n  a\n  b\n}\n"
    twice = b"head\n" + block + b"mid\n" + block + b"tail\n"
    body = "@@ -{0},4 +{0},4 @@\n {{\n-  a\n+  c\n   b\n }}\n"
    assert rule(text("f", body.format(3)), {"f": twice}) == "patch.ambiguous"
    at_place = one(twice, body.format(7))  # its very line is no guess
    assert at_place == b"head\n" + block + b"mid\n" + block.replace(b"  a", b"  c") + b"tail\n"
    fuzzy = twice.replace(b"  b\n", b"  x\n", 1)
    assert rule(text("f", body.format(2).replace("   b", "   y")), {"f": fuzzy}) == "patch.context"


def test_c076_c077_nothing_is_overwritten():
    assert rule(b"--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", {"f": b"old"}) == "patch.exists"
    move = b"diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"
    assert rule(move, {"x": b"1", "y": b"2"}) == "patch.rename"
    copy = b"diff --git a/x b/x\nsimilarity index 100%\ncopy from x\ncopy to y\n"
    assert rule(copy, {"x": b"1"}) == "patch.rename"
    assert rule(b"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-1\n+2\n", {"x": b"1\n"}) == "patch.rename"


def test_c078_c081_one_failing_file_fails_all_and_both_lists_are_told():
    good = text("f", "@@ -1 +1 @@\n-a\n+b\n")
    bad = text("g", "@@ -1 +1 @@\n-x\n+b\n")
    with pytest.raises(PatchRefused) as fault:
        apply({"f": b"a\n", "g": b"y\n"}, parse(good + bad))
    assert fault.value.facts["failed"] == [{"target": "g", "rule": "patch.context"}]
    assert fault.value.facts["fitting"] == ["f"]


@pytest.mark.parametrize(
    ("diff", "wanted"),
    [
        (b"", "patch.empty"),
        (b"\n\n", "patch.empty"),
        (b"hello\n", "patch.syntax"),
        (b"--- a/f\n", "patch.syntax"),
        (b"--- a/f\n+++ b/f\n", "patch.syntax"),
        (text("f", "@@ @@\n-a\n+b\n"), "patch.syntax"),
        (text("f", "@@ -1,2 +1 @@\n-a\n+b\n"), "patch.syntax"),
        (text("f", "@@ -1 +1 @@\n-a\n"), "patch.syntax"),
        (text("f", "@@ -1 +1 @@\n-a\n+b\nrubbish\n"), "patch.syntax"),
        (text("f", "@@ -1 +1 @@\n-a\n+b\n\n--- a/g\n"), "patch.syntax"),
        (text("f", "@@ -1 +1 @@\n a\n"), "patch.empty"),
        (text("f", "@@ -1 +1 @@\n-a\n+a\n"), "patch.empty"),
        (text("f", "@@ -0,0 +1 @@\n+b\n"), "patch.context"),
        (text("f", "@@ -99999999999 +1 @@\n-a\n+b\n"), "patch.syntax"),
        (
            text("f", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n\\ No newline at end of file\n+b\n"),
            "patch.syntax",
        ),
        (text("f", "@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n-b\n+a\n+c\n"), "patch.syntax"),
        (text("f", "@@ -1 +1 @@\n-a\n+b\n") * 2, "patch.duplicate"),
        (text("f", "@@ -1 +1 @@\n-a\n+b\n") + b"--- /dev/null\n+++ b/f/g\n@@ -0,0 +1 @@\n+x\n", "patch.conflict"),
        (text("x", "@@ -1 +1 @@\n-a\n+b\n"), "patch.missing"),
        (b"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", "patch.context"),
        (b"--- a/f\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "patch.remove"),
        (b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n".replace(b"a/f", b"f").replace(b"b/f", b"f"), "patch.prefix"),
        (b"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+b\n", "patch.rename"),
        (b"diff --git a/f b/f\nindex 1234567..89abcde 100644\n", "patch.syntax"),
        (b"diff --git a/f b/f\nGIT binary patch\nliteral 0\n", "patch.binary"),
        (b"diff --git a/f b/f\nindex 1234567..89abcde 100644\nBinary files a/f and b/f differ\n", "patch.binary"),
        (b"diff --git a/f b/f\nold mode 100644\nnew mode 100600\n", "patch.mode"),
        (b"diff --git a/f b/f\nold mode 100644\n", "patch.mode"),
        (b"diff --git a/f b/f\nnew file mode 100644\ndeleted file mode 100644\n", "patch.mode"),
        (b"diff --git a/f b/f\nnew file mode 160000\n", "patch.submodule"),
        (b"diff --git a/f b/f\nnew file mode 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "patch.syntax"),
        (b"diff --git a/f b/f\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+b\n", "patch.syntax"),
        (b'--- "a/\\777"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n', "patch.syntax"),
        (b'--- "a/\\377"\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n', "patch.encoding"),
        (b'--- "a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n', "patch.syntax"),
        (b"--- a/\xff\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n", "patch.encoding"),
    ],
)
def test_what_is_not_understood_is_refused(diff, wanted):
    assert rule(diff, {"f": b"a\n"}) == wanted


@pytest.mark.parametrize(
    "diff",
    [
        b"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+../out\n\\ No newline\n"
        b"diff --git a/l/x b/l/x\nnew file mode 100644\n--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n",
        b"diff --git a/l b/l\nold mode 100644\nnew mode 120000\n",
        b"diff --git a/l b/l\ndeleted file mode 120000\n",
        b"diff --git a/l b/l\nindex 1234567..89abcde 120000\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_c088_c090_links_are_refused_by_any_mode_line(diff):
    assert rule(diff, {"l": b"a\n"}) == "patch.symlink"


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("a/../../x", Invalid, "path.parent"),
        ("../../x", Invalid, "path.parent"),
        ("/tmp/x", Invalid, "path.absolute"),
        ("a//etc/x", Invalid, "path.absolute"),
        ('"a/\\056\\056/x"', Invalid, "path.parent"),
        ("a/.git/hooks/x", Denied, "path.protected"),
        ('"a/.\\147it/x"', Denied, "path.protected"),
        ("a/.GIT/x", Denied, "path.protected"),
        ("a/x\\y", Invalid, "path.backslash"),
        ('"a/x\\000"', Invalid, "path.nul"),
        ("a/./x", Invalid, "path.spelling"),
        ('"/tmp/\\170"', Invalid, "path.absolute"),
        ('"a/.g\\342\\200\\214it/x"', Denied, "path.protected"),
        ("a/x\r", Invalid, "path.control"),
    ],
)  # fmt: skip
def test_c091_names_that_leave_or_hide(name, kind, wanted):
    other = name.replace("a/", "b/", 1)
    with pytest.raises(kind) as fault:
        parse(f"--- {name}\n+++ {other}\n@@ -1 +1 @@\n-a\n+b\n".encode())
    assert fault.value.facts["rule"] == wanted


def test_names_with_spaces_tabs_and_octal():
    for shown, path in (("a b", "a b"), ('"\\303\\251"', "é")):
        left = shown.replace('"', '"a/', 1) if '"' in shown else "a/" + shown
        right = left.replace("a/", "b/", 1)
        diff = f"diff --git {left} {right}\n--- {left}\t\n+++ {right}\t\n@@ -1 +1 @@\n-a\n+b\n".encode()
        assert parse(diff).paths == [path]
    assert parse(b"--- a/f\t2026-01-01 00:00\n+++ b/f\t2026-01-01\n@@ -1 +1 @@\n-a\n+b\n").paths == ["f"]


def test_limits():
    with pytest.raises(TooLarge):
        parse(b"x" * (1024 * 1024 + 1))
    many = b"".join(b"--- /dev/null\n+++ b/f%d\n@@ -0,0 +1 @@\n+x\n" % n for n in range(201))
    assert rule(many) == "patch.files"


def test_a_crafted_file_cannot_make_matching_slow():
    content = b"a\n" * 1_000_000
    hunk = "@@ -%d,1001 +%d,1001 @@\n" + " a\n" * 999 + "-a\n+b\n z\n"
    body = "".join(hunk % (n, n) for n in range(5, 200_000, 2000))
    assert rule(text("f", body), {"f": content}) == "patch.context"


WORDS = st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"}\n", b"x\r\n", "é\n".encode()])
FILE = (
    st.lists(WORDS, max_size=30)
    .map(b"".join)
    .flatmap(lambda c: st.sampled_from([c, c[:-1] if c.endswith(b"\n") else c]))
)


def git(cwd, *argv, ok=True, **kwargs):
    someone = {f"GIT_{role}_{what}": "a" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = someone | {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(cwd), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["git", *argv], cwd=cwd, env=env, capture_output=True, **kwargs)
    assert not ok or done.returncode == 0, done.stderr
    return done


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    pairs=st.lists(st.tuples(st.one_of(st.none(), FILE), st.one_of(st.none(), FILE)), min_size=1, max_size=3),
    base=st.integers(0, 3), context=st.sampled_from([1, 3]), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_where_git_and_forge_both_accept_the_results_are_equal(tmp_path_factory, pairs, base, context, seed):
    """The diff is git's; the files it meets are the old ones with a few lines inserted or changed at random."""
    home = tmp_path_factory.mktemp("git")
    old = {f"f{n}": before for n, (before, _) in enumerate(pairs) if before is not None}
    new = {f"f{n}": after for n, (_, after) in enumerate(pairs) if after is not None}
    git(home, "init", "-q")
    for files in (old, new):
        for name, content in files.items():
            (home / name).write_bytes(content)
        for name in old.keys() - files.keys():
            (home / name).unlink()
        git(home, "add", "-A")
        if files is old:
            git(home, "commit", "-q", "--allow-empty", "-m", "base")
    diff = git(home, "diff", "--cached", "--no-renames", f"-U{context}", "HEAD").stdout
    if not diff:
        return
    rng = random.Random(seed)
    met = {name: disturb(content, base, rng) for name, content in old.items()}
    (home / "w").mkdir()
    (home / ".git").rename(home / "git")  # else `git apply` looks for its files in the repository
    for name, content in met.items():
        (home / "w" / name).write_bytes(content)
    (home / "p").write_bytes(diff)
    theirs = git(home / "w", "apply", "--whitespace=nowarn", str(home / "p"), ok=False)
    try:
        ours = apply(met, parse(diff))
    except ForgeError:
        assert base or theirs.returncode, "git's own diff of unchanged files must be accepted"
        return
    if theirs.returncode == 0:
        after = {path.name: path.read_bytes() for path in (home / "w").iterdir()}
        assert {name: content for name, content in (met | ours).items() if content is not None} == after


def disturb(content, times, rng):
    lines = content.splitlines(keepends=True)
    for _ in range(times):
        lines.insert(rng.randint(0, len(lines)), rng.choice([b"a\n", b"b\n", b"new\n"]))
        if lines and rng.random() < 0.3:
            lines.pop(rng.randrange(len(lines)))
    return b"".join(lines)
