"""Relative paths as agents may write them: one spelling each, and names nobody may touch."""

import posixpath
import unicodedata

from forge_project.kernel.errors import Denied, Invalid

Parts = tuple[str, ...]

MAX_NAME, MAX_PATH = 255, 1024  # bytes: Linux' NAME_MAX; a path longer than this is an attack or a mistake
STAGE_PREFIX = ".forge-"
# Version control's own data and where credentials live; each in any case form and with unseen characters.
PROTECTED = frozenset(
    {".git", "git~1", ".hg", ".svn", ".bzr", ".jj", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube", ".docker"}
    | {".env", ".envrc", ".netrc", "_netrc", ".pgpass", ".pypirc", ".git-credentials", ".htpasswd", ".vault-token"}
    | {".forge"}
)
PUBLIC = frozenset({".env.example", ".env.sample", ".env.template", ".env.dist"})  # made to be shared


def split(path: str) -> Parts:
    """The components of a workspace path; raises Invalid (rule path.*) unless it is in its one spelling."""
    if not path:
        raise _invalid("a path cannot be empty", "path.empty")
    if "\0" in path:
        raise _invalid("a path cannot hold NUL", "path.nul")
    if any(ord(c) < 0x20 or ord(c) == 0x7F for c in path):
        raise _invalid("a path cannot hold control characters", "path.control")
    if "\\" in path:
        raise _invalid("a path is written with /", "path.backslash")
    if path.startswith("/") or (path[1:2] == ":" and path[0].isalpha()):
        raise _invalid("a path starts at the workspace's root", "path.absolute")
    parts = tuple(path.split("/"))
    if ".." in parts:
        raise _invalid("a path cannot climb with ..", "path.parent")
    if "." in parts or "" in parts:
        raise _invalid("a path has no empty or . components", "path.spelling")
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        raise _invalid("a path is Unicode text", "path.encoding") from None
    if max(sizes) > MAX_NAME or sum(sizes) + len(sizes) - 1 > MAX_PATH:
        raise _invalid(f"a name is at most {MAX_NAME} bytes and a path {MAX_PATH}", "path.long")
    return parts


def directory(path: str) -> Parts:
    """As `split`, with `.` for the workspace itself."""
    return () if path == "." else split(path)


def plain(path: str) -> str:
    """A path in its one spelling, however it was written; raises Invalid where it leaves the workspace."""
    found = posixpath.normpath(path.replace("\\", "/")) if path else "."
    return "/".join(directory(found)) or "."


def protected(name: str) -> bool:
    """Whether one component is, or could pass on some file system as, a protected name."""
    seen = "".join(c for c in unicodedata.normalize("NFKC", name) if not _ignorable(c)).casefold()
    seen = seen.split(":")[0].rstrip(". ")  # NTFS drops trailing dots and spaces, and opens a:b as a stream of a
    if seen in PUBLIC:
        return False
    return seen in PROTECTED or seen.startswith((".env.", STAGE_PREFIX))


def guard(parts: Parts) -> Parts:
    """The same parts; raises Denied (rule path.protected) when any is protected."""
    if any(map(protected, parts)):
        raise Denied("this name is protected", rule="path.protected", target="/".join(parts))
    return parts


def granted(path: str) -> Parts:
    """`split` and `guard`: what an agent's path must pass before anything is opened."""
    return guard(split(path))


def _ignorable(char: str) -> bool:
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0000" <= char <= "\U000e0fff"
    return selector or char == "\u034f" or unicodedata.category(char) == "Cf"


def _invalid(message: str, rule: str) -> Invalid:
    return Invalid(message, rule=rule, path="/path")
