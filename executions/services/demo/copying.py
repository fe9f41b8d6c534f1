"""A copy of this very project as a git repository of its own."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from forge_project.kernel.errors import Failed

_NOT_OURS = (".git", ".venv*", "var", "staticfiles", "__pycache__", ".*_cache", ".hypothesis")
# Nobody's own git settings (signing, hooks, templates) have a say in the copy.
_ENV = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8"}
_AUTHOR = ("-c", "user.name=Forge demo", "-c", "user.email=demo@localhost")


def copy_project(source: Path, to: Path) -> int:
    """Copies the tracked files (without git: all but what is made) and commits them; how many. Raises Failed."""
    names = _tracked(source)
    if names is None:
        shutil.copytree(source, to, symlinks=True, ignore=_left_out(to), dirs_exist_ok=True)
    else:
        for name in names:
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, to / name, follow_symlinks=False)
    _git(to, "init", "-q", "-b", "main", "--template=")
    _git(to, "add", "--all", "--force", ".")
    _git(to, *_AUTHOR, "commit", "-q", "-m", "A copy of this project")
    return len(_git(to, "ls-files", "-z").split("\0")) - 1


def _tracked(source: Path) -> list[str] | None:
    if not (source / ".git").exists():
        return None
    listed = _git(source, "-c", "safe.directory=*", "ls-files", "-z", "--cached").split("\0")
    return [name for name in listed if name and os.path.lexists(source / name)]


def _left_out(to: Path) -> Callable[[str, list[str]], set[str]]:
    """What is made, and the directory of ours that the copy itself lies in."""
    made = shutil.ignore_patterns(*_NOT_OURS)

    def left_out(folder: str, names: list[str]) -> set[str]:
        return made(folder, names) | {name for name in names if to.is_relative_to(Path(folder) / name)}

    return left_out


def _git(where: Path, *arguments: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | _ENV
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=where, env=env, capture_output=True, text=True, timeout=60, check=True
        )
    except FileNotFoundError:
        raise Failed("the demo needs git on PATH") from None
    except subprocess.SubprocessError as error:
        said = getattr(error, "stderr", None) or str(error)
        raise Failed(f"git {' '.join(arguments)}: {said.strip()}") from None
    return done.stdout
