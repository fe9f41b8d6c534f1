import os
import stat
import threading

import pytest

from artifacts import storage
from forge_project.kernel.canonical import sha256
from forge_project.kernel.errors import Failed, Invalid


@pytest.fixture(autouse=True)
def root(settings, tmp_path):
    settings.FORGE_VAR = tmp_path / "var"
    return tmp_path / "var" / "artifacts"


def files(root):
    return [path for path in root.rglob("*") if path.is_file()]


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_bytes_lie_under_their_digest_for_us_alone(root):
    digest = storage.write(b"hello")
    place = root / digest[:2] / digest[2:4] / digest
    assert (digest, place.read_bytes(), mode(place)) == (sha256(b"hello"), b"hello", 0o600)
    assert {mode(path) for path in (root.parent, root, place.parent.parent, place.parent)} == {0o700}


def test_the_same_content_is_one_file(root):
    before = storage.write(b"same")
    inode = files(root)[0].stat().st_ino
    assert (storage.write(b"same"), len(files(root)), files(root)[0].stat().st_ino) == (before, 1, inode)


def test_ranges():
    content = bytes(range(256)) * 20_000  # spans several chunks
    digest = storage.write(content)
    assert storage.read(digest) == content
    for offset, limit in ((0, 10), (1_048_570, 20), (5_119_990, 100), (9_000_000, 5), (7, 0), (1_000_000, None)):
        end = None if limit is None else offset + limit
        assert storage.read(digest, offset, limit) == content[offset:end]
    assert storage.read(storage.write(b"")) == b""


def test_damage_is_found_on_any_read_and_mended_by_the_next_write(root):
    digest = storage.write(b"x" * 100)
    files(root)[0].write_bytes(b"x" * 99 + b"y")
    with pytest.raises(Failed) as refusal:
        storage.read(digest, 0, 5)
    assert refusal.value.facts["rule"] == "artifact.damaged"
    storage.write(b"x" * 100)
    assert storage.read(digest, 0, 5) == b"xxxxx"


def test_lost_files_and_links_are_not_read(root, tmp_path):
    digest = storage.write(b"there")
    place = files(root)[0]
    place.unlink()
    with pytest.raises(Failed):
        storage.read(digest)
    (tmp_path / "other").write_bytes(b"there")
    place.symlink_to(tmp_path / "other")
    with pytest.raises(Failed) as refusal:
        storage.read(digest)
    assert refusal.value.facts["rule"] == "artifact.lost"


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_no_name_leaves_the_root(name):
    with pytest.raises(Invalid):
        storage.read(name)


def test_negative_ranges_are_refused():
    with pytest.raises(Invalid):
        storage.read(storage.write(b"a"), -1)


def test_a_failed_write_leaves_nothing(root, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        storage.write(b"big")
    assert files(root) == []


def test_eight_writers_of_one_content(root):
    ended = []
    threads = [threading.Thread(target=lambda: ended.append(storage.write(b"z" * 100_000))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(set(ended)), len(ended), len(files(root))) == (1, 8, 1)
