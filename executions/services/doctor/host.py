"""This host: Python, the engine and its sandbox, ripgrep, Forge's own files."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings
from django.core.checks import WARNING, run_checks

from executions.capabilities.workspace import ripgrep
from executions.sandbox.zygote import Zygote
from executions.services.doctor.findings import Finding, fail, ok, warn
from forge_project.kernel.errors import NotReady

_OLDEST = (3, 11)
_SHOWN = 5  # offending files named at most
_APART = "demo"  # the demo's copies of a project, behind FORGE_VAR's own 0700


def python() -> Iterable[Finding]:
    """The version and the platform."""
    said = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < _OLDEST:
        yield fail("python", said, "use Python 3.11 or newer: make setup PYTHON=python3.11")
    elif platform.system() != "Linux":
        yield fail("python", said, "Forge needs Linux: its guests are held by seccomp, pidfd and namespaces")
    else:
        yield ok("python", said)


def account() -> Iterable[Finding]:
    """Forge needs no privileges."""
    if os.geteuid() == 0:
        yield warn("account", "this runs as root", "run Forge as an account of its own")
    else:
        yield ok("account", f"uid {os.geteuid()}")


def configuration() -> Iterable[Finding]:
    """Django's checks and ours; settings that could not be read have ended the command before."""
    serious = [message for message in run_checks() if message.level >= WARNING]
    for message in serious:
        yield warn("settings", f"{message.id}: {message.msg}", message.hint or "see README, Settings")
    if not serious:
        yield ok("settings", f"mode {settings.FORGE_MODE}, host {settings.FORGE_HOST_ID}")


def engine() -> Iterable[Finding]:
    """The engine's files against their digests, and a real zygote."""
    try:
        zygote = Zygote.start(allow_weak=settings.FORGE_ALLOW_WEAK_ISOLATION)
    except NotReady as error:
        yield fail("engine", error.message, "reinstall it: rm -r .venv && make setup; seccomp must be allowed here")
        return
    try:
        said = f"{zygote.engine.name} {zygote.engine.version}, isolation {zygote.isolation}"
        said += f" ({zygote.selection_reason})" if zygote.selection_reason else ""
        weak = zygote.isolation == "weak"
        yield (
            warn("engine", said, "unset FORGE_ALLOW_WEAK_ISOLATION on a kernel with seccomp")
            if weak
            else ok("engine", said)
        )
    finally:
        zygote.close()


def search() -> Iterable[Finding]:
    """The ripgrep that file.searchText runs."""
    try:
        told = subprocess.run([ripgrep.binary(), "--version"], capture_output=True, text=True, timeout=10, check=True)
    except (NotReady, OSError, subprocess.SubprocessError) as error:
        yield fail("ripgrep", f"it can't be run: {error}", "reinstall it: make setup, or put rg on PATH")
    else:
        yield ok("ripgrep", told.stdout.splitlines()[0])


def storage() -> Iterable[Finding]:
    """FORGE_VAR is writable, its directories 0700 and its files 0600."""
    var = Path(settings.FORGE_VAR)
    if not os.access(var, os.W_OK | os.X_OK):
        yield fail("storage", f"{var} can't be written", f"mkdir -p -m 700 {var}, owned by who runs Forge")
        return
    open_to_others = list(_open_to_others(var))
    for path in open_to_others[:_SHOWN]:
        yield fail("storage", f"{path} is open to other users", f"chmod go= {path}")
    if len(open_to_others) > _SHOWN:
        rest = len(open_to_others) - _SHOWN
        yield fail("storage", f"and {rest} more", f"chmod -R go= {var}")
    if not open_to_others:
        yield ok("storage", f"{var} is Forge's alone")


def _open_to_others(var: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(var):
        here = Path(folder)
        if here == var and _APART in folders:
            folders.remove(_APART)
        for path in (here, *(here / name for name in files)):
            try:
                if path.lstat().st_mode & 0o077 and not path.is_symlink():
                    yield path
            except FileNotFoundError:  # a message that was taken meanwhile
                continue
