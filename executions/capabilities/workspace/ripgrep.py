"""Running ripgrep over open descriptors: it never sees a path, so no link, race or ignore file can lead it astray."""

import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from forge_project.kernel.errors import Failed, Invalid, NotReady

BATCH = 256  # descriptors given to one run; the usual limit of open files is 1,024
_CPU, _MEMORY = 30, 1024 * 1024 * 1024  # seconds and bytes: a second line behind the deadline
_FLAGS = (
    "--no-config", "--json", "--no-ignore", "--no-follow", "--no-mmap", "--engine=default", "--threads=1",
    "--no-messages", "--no-pre", "--no-search-zip", "--encoding=auto", "--regex-size-limit=10M", "--dfa-size-limit=20M",
)  # fmt: skip


@cache
def binary() -> str:
    """The wheel's rg beside this interpreter, else one on PATH; raises NotReady."""
    homes = (Path(sys.executable).parent, Path(sysconfig.get_path("scripts")))
    found = next((str(home / "rg") for home in homes if os.access(home / "rg", os.X_OK)), None) or shutil.which("rg")
    if found is None:
        raise NotReady("ripgrep is not installed", part="ripgrep")
    return found


class Search:
    """One query with one deadline (seconds from now); raises Invalid at /query for a pattern ripgrep refuses."""

    def __init__(self, query: str, *, regex: bool, most: int, deadline: float) -> None:
        self._until = time.monotonic() + deadline
        self._command = [binary(), *_FLAGS, f"--max-count={most}"]
        self._command += [] if regex else ["--fixed-strings"]
        self._command += [f"--regexp={query}", "--"]
        with self._started(["-"]) as process:
            process.wait()
        self._in_time()
        if process.returncode not in {0, 1}:
            raise Invalid("the query is not a pattern of the linear engine", path="/query", rule="search.regex")

    def matches(self, descriptors: Sequence[int]) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """(descriptor, ripgrep's match) in the order of `descriptors`; raises Failed, code TIMEOUT, at the deadline."""
        places = {f"/proc/self/fd/{descriptor}": descriptor for descriptor in descriptors}
        with self._started(list(places), descriptors) as process:
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            for line in process.stdout:
                event = json.loads(line) if line.startswith(b'{"type":"match"') else None
                if event is not None:
                    yield places[event["data"]["path"]["text"]], event["data"]
            process.wait()
        self._in_time()
        if process.returncode not in {0, 1}:  # e.g. its memory limit: an incomplete answer must not pass for one
            raise Failed("the search broke off", rule="search.engine")

    def _in_time(self) -> None:
        if time.monotonic() >= self._until:
            raise Failed("the search took too long", code="TIMEOUT", retryable=True)

    def _started(self, arguments: list[str], keep: Sequence[int] = ()) -> "_Running":
        process = subprocess.Popen(
            [*self._command, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=keep,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        return _Running(process, self._until - time.monotonic())


class _Running:
    """A child that is gone when the block is left, however it is left."""

    def __init__(self, process: subprocess.Popen[bytes], left: float) -> None:
        self.process = process
        for kind, limit in ((resource.RLIMIT_CPU, _CPU), (resource.RLIMIT_AS, _MEMORY)):
            try:
                resource.prlimit(process.pid, kind, (limit, limit))
            except ProcessLookupError:  # already done
                break
        self._timer = threading.Timer(max(0.0, left), process.kill)
        self._timer.daemon = True

    def __enter__(self) -> subprocess.Popen[bytes]:
        self._timer.start()
        return self.process

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
