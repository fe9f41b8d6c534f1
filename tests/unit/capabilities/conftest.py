"""A real workspace in tmp_path, an artifact store in memory, and a boundary that counts."""

import hashlib
import os
from pathlib import Path

import pytest

from executions.capabilities.base import ArtifactContent, Capability, Outcome, Request, Workspace, validate_input
from executions.capabilities.workspace import openat
from forge_project.kernel.errors import Missing

OPERATION = "toolop_" + "0" * 32


class Refused(Exception):
    """The boundary said no."""


class Boundary:
    operation_id = OPERATION

    def __init__(self, refuse=False):
        self.refuse, self.begun = refuse, []

    def begin(self, precondition):
        if self.refuse:
            raise Refused
        self.begun.append(precondition)


class Store:
    def __init__(self):
        self.held = {}

    def put(self, artifact, owner="user:a", scopes=None, ref=None):
        ref = ref or f"art_{len(self.held):032x}"
        self.held[ref] = ArtifactContent(
            ref=ref, kind=artifact.kind, owner=owner, scopes=scopes or {}, metadata=dict(artifact.metadata),
            sha256=hashlib.sha256(artifact.content).hexdigest(), content=artifact.content,
        )  # fmt: skip
        return ref

    def get(self, ref):
        if ref not in self.held:
            raise Missing("no such artifact")
        return self.held[ref]


class Bench:
    """Runs capabilities on one workspace as the machine would, one call at a time."""

    def __init__(self, root):
        self.root, self.store = root, Store()

    def request(self, operation_id=OPERATION, **input_):
        return Request(
            input=input_, operation_id=operation_id, caller_ref="user:a", scopes={}, artifacts=self.store,
            workspace=Workspace(name="w", root=self.root),
        )  # fmt: skip

    def run(self, capability: Capability, boundary=None, **input_) -> Outcome:
        validate_input(capability, input_)
        return capability.execute(self.request(**input_), boundary or Boundary())

    def observe(self, capability: Capability, **input_):
        validate_input(capability, input_)
        return capability.observe(self.request(**input_))

    def write(self, path, content):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def tree(self):
        """Every name with its kind, mode and content: what "unchanged" means."""
        seen = {}
        for here, dirs, files in os.walk(self.root):
            for name in dirs + files:
                path = Path(here) / name
                status = path.lstat()
                plain = path.is_file() and not path.is_symlink()
                link = os.readlink(path) if path.is_symlink() else None
                seen[str(path.relative_to(self.root))] = (status.st_mode, link, path.read_bytes() if plain else None)
        return seen


@pytest.fixture
def bench(tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    return Bench(root)


@pytest.fixture(params=["openat2", "walk"])
def both_ways(request, monkeypatch):
    """The kernel's resolution and ours must refuse alike."""
    if request.param == "walk":
        monkeypatch.setattr(openat, "kernel_has_openat2", lambda: False)
    else:
        assert openat.kernel_has_openat2()
    return request.param
