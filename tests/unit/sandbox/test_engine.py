"""The engine's manifest: any changed byte is noticed, nothing is remembered."""

import base64
import hashlib
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from executions.sandbox import Zygote, engine
from executions.sandbox.inside.prelude_files import prelude_sha256, prelude_text
from executions.sandbox.protocol import Ready
from executions.sandbox.shapes import Fatal
from executions.sandbox.zygote import refuse_stranger
from forge_project.kernel.errors import NotReady
from tests.unit.sandbox.driving import ENGINE, start

VERSION = {"quickjs-ng": "0.17.0.2", "quickjs": "1.19.4"}[ENGINE]
BINARY = next(str(file) for file in metadata.distribution(ENGINE).files if str(file).startswith("_quickjs."))


@pytest.fixture
def site(tmp_path):
    """A site-packages of our own with the engine in it."""
    distribution = metadata.distribution(ENGINE)
    for file in distribution.files:
        source = Path(str(file.locate()))
        if source.is_file() and "__pycache__" not in file.parts:
            target = tmp_path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    return tmp_path


def test_the_installed_engine_is_the_pinned_one():
    found = engine.check()
    assert (found.name, found.version) == (ENGINE, VERSION)
    assert found.prelude_sha256 == prelude_sha256(prelude_text())
    assert (found.site / BINARY).is_file()


@pytest.mark.skipif((ENGINE, VERSION, BINARY) not in engine.PINNED, reason="this Python's wheel is not a pinned one")
def test_the_binary_is_pinned_itself():
    assert len({name for name, _, _ in engine.PINNED}) == 2


def test_the_preludes_lines_stay_below_the_users():
    assert prelude_text().count("\n") < 2000


def test_a_changed_file_is_refused_and_a_mended_one_taken(site):
    assert engine.check([str(site)]).site == site
    file = site / "quickjs" / "__init__.py"
    good = file.read_bytes()
    file.write_bytes(good + b"#")
    with pytest.raises(NotReady, match="differs from its RECORD") as caught:
        engine.check([str(site)])
    assert (caught.value.code, caught.value.facts["part"]) == ("ENGINE_NOT_READY", "engine")
    file.write_bytes(good)
    assert engine.check([str(site)]).version == VERSION


def test_a_forged_record_does_not_help(site):
    file, record = site / "quickjs" / "__init__.py", next(site.glob("*.dist-info")) / "RECORD"
    old = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
    file.write_bytes(b"evil")
    new = base64.urlsafe_b64encode(hashlib.sha256(b"evil").digest()).rstrip(b"=").decode()
    record.write_text(record.read_text().replace(old, new))
    with pytest.raises(NotReady, match="differs from the pinned wheel"):
        engine.check([str(site)])


def test_a_missing_file_and_a_missing_engine(site, tmp_path_factory):
    (site / BINARY).unlink()
    with pytest.raises(NotReady, match="can't be read"):
        engine.check([str(site)])
    with pytest.raises(NotReady, match="no engine is installed"):
        engine.check([str(tmp_path_factory.mktemp("empty"))])


def test_a_broken_engine_never_starts(site, tmp_path):
    found = engine.check([str(site)])
    (site / BINARY).write_bytes(b"no library")
    with pytest.raises(NotReady, match="the zygote did not start: ImportError"):
        Zygote.start(engine=found)


@pytest.mark.parametrize("part", ["name", "version", "prelude_sha256"])
def test_a_guest_with_another_manifest_is_refused(part):
    ours = engine.check()
    same = Ready(ours.name, ours.version, ours.prelude_sha256)
    refuse_stranger(ours, same)
    parts = {"name": same.engine, "version": same.engine_version, "prelude_sha256": same.prelude_sha256}
    with pytest.raises(NotReady):
        refuse_stranger(ours, Ready(*(parts | {part: "other"}).values()))
    with pytest.raises(NotReady):
        refuse_stranger(ours, Fatal("ISOLATE_FAILURE", "gone"))


def test_a_real_guest_with_another_version_is_never_run():
    ours = engine.check()
    zygote = Zygote.start(engine=replace(ours, version="0.0.1"))
    try:
        with pytest.raises(NotReady, match="another prelude or version"):
            zygote.spawn(start("return 1"))
    finally:
        zygote.close()


def test_the_host_never_imports_the_engine():
    code = "import executions.sandbox, sys; print([m for m in ('_quickjs', 'quickjs', 'django') if m in sys.modules])"
    root = Path(__file__).parents[3]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
