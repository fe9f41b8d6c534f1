"""What a storm asks for, and what of it is in the world: mixed executions whose effects are counted from outside."""

from collections import Counter
from pathlib import Path

from tests.inotify import Renames

_AGAIN = "for (;;) { try { return await tools.call(%s) } catch (e) { if (e.code !== 'INTERRUPTED') throw e } }"
_MARK = "const mark = async step => { %s };" % (_AGAIN % "'tests.marker', {text: input.id + '.' + step}")
_WRITE = "const write = async () => { %s };" % (_AGAIN % "'file.write', {path: input.id, content: 'new'}")
_SCRIPTS = {
    "marks": _MARK + "for (const step of [1, 2, 3]) await mark(step); return 3",
    "together": _MARK + "return (await Promise.all([1, 2, 3].map(mark))).length",
    "asks": _MARK + _WRITE + "await mark(1); const {path} = await write(); await mark(2); return path",
    "reads": "return (await tools.call('file.list', {})).entries.length",
    "long": _MARK + "for (let step = 1; step <= 8; step++) { await mark(step); await tools.call('file.list', {}) }",
}
KINDS = (*_SCRIPTS, "mark", "write")
CANCELLED = "long"  # these are cancelled in the middle


def kind_of(n: int) -> str:
    return KINDS[n % len(KINDS)]


def body(n: int) -> dict:
    kind, name = kind_of(n), f"e{n}"
    if kind == "mark":
        return {"capability": "tests.marker", "input": {"text": f"{name}.1"}}
    if kind == "write":
        return {"capability": "file.write", "input": {"path": name, "content": "new"}, "workspace": "ws"}
    asked = {"source": _SCRIPTS[kind], "input": {"id": name}, "workspace": "ws", "timeout_ms": 600_000}
    return asked | {"interruption": "resume" if n % 3 else "fail"}


class Outside:
    """The marker file and the renames into the workspace."""

    def __init__(self, base: Path) -> None:
        self.folder, self.marker = base / "ws", base / "marker"
        self.folder.mkdir()
        self._renames = Renames(self.folder)

    def effects(self) -> Counter:
        """How often each effect happened: by a marker's text, by a file's name."""
        lines = self.marker.read_text().splitlines() if self.marker.exists() else []
        names = [name for name in self._renames.names() if not name.startswith(".")]
        return Counter([line.split(" ", 1)[1] for line in lines] + names)
