"""Where a demo's files are: a directory of its own under FORGE_VAR/demo, so that no run meets another's."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_KEEP, _LOCK = "keep", "lock"


def new_place(base: Path, *, keep: bool) -> Path:
    """A new directory, locked for as long as this process lives, exec included. Earlier ones go, but for kept ones."""
    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    guard = os.open(base / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(guard, fcntl.LOCK_EX)
        for earlier in [path for path in base.iterdir() if path.is_dir()]:
            if not (earlier / _KEEP).exists() and _free(earlier):
                shutil.rmtree(earlier, ignore_errors=True)
        place = Path(tempfile.mkdtemp(prefix="run-", dir=base))
        lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.set_inheritable(lock, True)
        if keep:
            (place / _KEEP).touch(mode=0o600)
    finally:
        os.close(guard)
    return place


def environment(place: Path, given: Mapping[str, str]) -> dict[str, str]:
    """The demo's own settings; of the caller's, only that weak isolation is allowed."""
    kept = {name: value for name, value in given.items() if not name.startswith("FORGE_")}
    weak = {name: given[name] for name in ("FORGE_ALLOW_WEAK_ISOLATION",) if name in given}
    return kept | weak | {"FORGE_VAR": str(place / "var"), "FORGE_API_DECISIONS": "1"}


def _free(place: Path) -> bool:
    """Whether no demo (or service it left up) uses the place."""
    with suppress(FileNotFoundError):
        lock = os.open(place / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(lock)
    return True
