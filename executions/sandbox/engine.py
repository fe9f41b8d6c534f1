"""Which engine is installed and whether it is what it should be; asked before anything imports it."""

import base64
import hashlib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from executions.sandbox.inside.prelude_files import prelude_sha256, prelude_text
from forge_project.kernel.errors import NotReady

DISTRIBUTIONS = ("quickjs-ng", "quickjs")
# SHA-256 of the engine's files in the pinned wheels on PyPI (x86-64, aarch64), whatever RECORD says.
PINNED = {
    ("quickjs-ng", "0.17.0.2", "_quickjs.abi3.so"): (
        "afaf49c5eac1ee0753b7c56a683d9624d33ee1ec9ff55f09fa986d800e9210b2",
        "4ff6c554c314570fd9f7ca0bb3bcc13531dc954c7a0b95795ae52f427f860776",
    ),
    ("quickjs-ng", "0.17.0.2", "quickjs/__init__.py"): (
        "06dbcf5090f8aedff3523dab8a26f9c46cd6af4b5d88feda20ef7ae45cddef38",
    ),
    # 1.19.4 has a wheel for each Python: here those of CPython 3.11 on x86-64; others have their RECORD only.
    ("quickjs", "1.19.4", "_quickjs.cpython-311-x86_64-linux-gnu.so"): (
        "ea920640118250cf261d6b3068c0f755e31449904f89d71142dbd5e4d3e336be",
    ),
    ("quickjs", "1.19.4", "quickjs/__init__.py"): ("40c0e7968839ce33b800c6691cc200b6c7bd4e6ea861e5e9141048a2cbab52d2",),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """The manifest a guest's `ready` must equal; `site` is where the zygote finds the engine."""

    name: str
    version: str
    prelude_sha256: str
    site: Path

    def same(self, name: str, version: str, prelude: str) -> bool:
        """Whether a guest that says this of itself is ours."""
        return (self.name, self.version, self.prelude_sha256) == (name, version, prelude)


def check(search: list[str] | None = None) -> Engine:
    """The engine if each of its files is as recorded and pinned, else NotReady with the reason. Nothing is cached.

    `search` are directories to look in instead of sys.path.
    """
    distribution = _find(search)
    files = distribution.files or []
    if not files:
        raise _refused(f"{distribution.name} has no RECORD")
    seen = set()
    for file in files:
        seen.add(str(file))
        if file.hash is None:
            continue  # RECORD itself and byte code, which the zygote never reads (-B, and only the binary is imported)
        digest = _digest(Path(str(file.locate())), file.hash.mode)
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            raise _refused(f"{file} differs from its RECORD")
        pinned = PINNED.get((distribution.name, distribution.version, str(file)))
        if pinned is not None and digest.hex() not in pinned:
            raise _refused(f"{file} differs from the pinned wheel")
    # Python 3.12 leaves files that are gone out of the list.
    named = {file for name, version, file in PINNED if (name, version) == (distribution.name, distribution.version)}
    for missing in sorted(named - seen):
        raise _refused(f"{missing} can't be read: it is not there")
    return Engine(
        distribution.name, distribution.version, prelude_sha256(prelude_text()), Path(str(distribution.locate_file("")))
    )


def _find(search: list[str] | None) -> metadata.Distribution:
    for name in DISTRIBUTIONS:
        found = metadata.distributions(name=name) if search is None else metadata.distributions(name=name, path=search)
        for distribution in found:
            return distribution
    raise _refused("no engine is installed (quickjs-ng)")


def _digest(path: Path, mode: str) -> bytes:
    try:
        return hashlib.new(mode, path.read_bytes()).digest()
    except (OSError, ValueError) as error:
        raise _refused(f"{path.name} can't be read: {error}") from None


def _refused(reason: str) -> NotReady:
    return NotReady(f"the script engine is not ready: {reason}", code="ENGINE_NOT_READY", part="engine", reason=reason)
