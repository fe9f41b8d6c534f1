"""The disk under `var` is full for a while: nothing is lost or done twice, and work goes on once there is room."""

import shutil
import subprocess
import time
from contextlib import suppress

import pytest

from tests import sites
from tests.inotify import Renames

DIFF = "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+new\n"
PROPOSE = {"capability": "artifact.patch-proposal.materialize", "input": {"diff": DIFF}, "workspace": "ws"}
MEGABYTES = 64


@pytest.fixture
def site(tmp_path):
    """A site whose `var` is a small disk of its own."""
    with sites.fresh(tmp_path) as made:
        aside = tmp_path / "aside"
        shutil.move(made.var, aside)
        made.var.mkdir(mode=0o700)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=0700", "tmpfs", str(made.var)]
        if subprocess.run(mount, stderr=subprocess.DEVNULL).returncode:
            pytest.skip("a file system can't be mounted here")
        try:
            shutil.copytree(aside, made.var, dirs_exist_ok=True)
            yield made
        finally:
            subprocess.run(["umount", "--lazy", str(made.var)], check=True)


def write(name):
    return {"capability": "file.write", "input": {"path": name, "content": "new"}, "workspace": "ws"}


def fill(var):
    """Every byte; what is written next meets ENOSPC."""
    full = var / "full"
    with full.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    return full


def submitted(site, key, body):
    """The ref, or None where even the acceptance needs the disk (SQLite)."""
    hand = sites.Hand(site, stderr=subprocess.DEVNULL)
    try:
        return hand.do("submit", key=key, body=body)["ref"]
    except AssertionError:
        return None
    finally:
        with suppress(OSError):
            hand.close()


def test_full_and_free_again(site, folder, workers, tmp_path):
    hand, renames = sites.Hand(site), Renames(folder)
    hand.do("setup")
    hand.do("workspace", path=str(folder))
    hand.do("allow", capability="file.write")
    workers()
    hand.until(hand.do("submit", key="k0", body=PROPOSE)["ref"], "succeeded")
    full = fill(site.var)
    refs = {name: submitted(site, name, body) for name, body in (("w1", write("w1")), ("p1", PROPOSE))}
    time.sleep(3)  # two sweeps' worth of failing
    full.unlink()
    for name, ref in refs.items():
        if ref is not None:
            seen = hand.until(ref, "succeeded", "failed")
            assert (renames.names().count(name) == 1) == (name == "w1" and seen["side_effect"] == "applied"), seen
    for name, body in (("w2", write("w2")), ("p2", PROPOSE), ("w1", write("w1"))):
        ref = hand.do("submit", key=name, body=body)["ref"]
        assert hand.until(ref, "succeeded", "failed")["status"] == "succeeded" or name == "w1"
    assert max(map(renames.names().count, ("w1", "w2"))) == 1
    hand.close()
    assert site.verify()["findings"] == []
