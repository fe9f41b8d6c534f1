"""File names and modes in a diff's header lines."""

import re

from executions.capabilities.diffs.model import refuse
from executions.capabilities.workspace import names

_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|[abtnvfr\"\\])")
_SIMPLE = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}
MODES = {"100644": False, "100755": True}


def side(text: str, prefix: str, line: int) -> str | None:
    """The path of a `---` or `+++` line without its a/ or b/; None for /dev/null."""
    name = unquote(text, line) if text.startswith('"') else text.partition("\t")[0]  # diff puts a date after a tab
    if name == "/dev/null":
        return None
    return strip(name, prefix, line)


def strip(name: str, prefix: str, line: int) -> str:
    """`a/x` -> `x`, checked as any path is."""
    if name.startswith("/") or ".." in name.split("/"):
        names.split(name)  # says which of the two it is
    if not name.startswith(prefix):
        raise refuse(f"file names start with a/ and b/ (line {line})", "prefix", line=line)
    path = name.removeprefix(prefix)
    names.granted(path)
    return path


def both(text: str, line: int) -> str:
    """The one path of `diff --git a/x b/x`; two different ones are a rename, refused."""
    if text.startswith('"') or text.endswith('"'):
        first = _QUOTED.match(text)
        left = first.group() if first else text.partition(" ")[0]
        pair = (left, text[len(left) + 1 :])
        old, new = (unquote(part, line) if part.startswith('"') else part for part in pair)
    else:
        # Both names are equal, so the middle is known even when they hold spaces.
        middle = len(text) // 2
        old, new = text[:middle], text[middle + 1 :]
        if text[middle : middle + 1] != " " or old[2:] != new[2:]:
            raise refuse(
                f"one file under two names is a rename: remove and add instead (line {line})", "rename", line=line
            )
    left_path, right_path = strip(old, "a/", line), strip(new, "b/", line)
    if left_path != right_path:
        raise refuse(f"one file under two names is a rename: remove and add instead (line {line})", "rename", line=line)
    return left_path


def unquote(text: str, line: int) -> str:
    """Git's C-style quoting, octal bytes included."""
    if not _QUOTED.fullmatch(text.rstrip("\t")):
        raise refuse(f"a quoted name is not closed (line {line})", "syntax", line=line)
    inner = text.rstrip("\t")[1:-1].encode()
    if b"\\" in _ESCAPE.sub(b"", inner):
        raise refuse(f"a quoted name has an unknown escape (line {line})", "syntax", line=line)
    raw = _ESCAPE.sub(lambda m: _unescape(m.group(1)), inner)
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise refuse(f"a name is not UTF-8 (line {line})", "encoding", line=line) from None


def _unescape(escape: bytes) -> bytes:
    return bytes([int(escape, 8)]) if len(escape) == 3 else _SIMPLE.get(escape, escape)


def mode(text: str, line: int) -> bool:
    """Whether executable; raises PatchRefused for links, submodules and anything that is no plain file."""
    match text:
        case "100644" | "100755":
            return MODES[text]
        case "120000":
            raise refuse(f"symbolic links are not patched (line {line})", "symlink", line=line)
        case "160000":
            raise refuse(f"submodules are not patched (line {line})", "submodule", line=line)
    raise refuse(f"only modes 100644 and 100755 are known (line {line})", "mode", line=line)
