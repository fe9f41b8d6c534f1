"""Zygotes: shared by threads, replaced when they die or wear out, told when they can't start."""

import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from executions.sandbox import Complete, Zygote, Zygotes, zygotes
from executions.sandbox import zygote as zygote_module
from executions.sandbox.inside import seccomp
from forge_project.kernel.errors import NotReady
from tests.unit.sandbox.driving import ENGINE, run, start


@pytest.fixture
def keeper():
    keeper = Zygotes.start()
    yield keeper
    keeper.close()


def test_it_says_what_it_is(zygote):
    assert (zygote.isolation, zygote.selection_reason != "") in {("seccomp+ns", False), ("seccomp", True)}
    assert zygote.engine.name == ENGINE
    assert zygote.alive()


def test_fifty_scripts_from_eight_threads(zygote):
    found, lock = [], threading.Lock()

    def work(mine):
        for i in mine:
            value = run(zygote, f"return (await tools.call('t', {i})) * 2").value
            with lock:
                found.append(value)

    threads = [threading.Thread(target=work, args=(range(k, 48, 8),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [2 * i for i in range(48)]


def zygote_pid(guest):
    return int(Path(f"/proc/{guest.pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def test_guests_of_a_killed_zygote_end_and_the_next_spawn_works(keeper):
    guest = keeper.spawn(start("await sleep(1)"))
    guest.receive(deadline=time.monotonic() + 5)
    os.kill(zygote_pid(guest), signal.SIGKILL)
    end = guest.receive(deadline=time.monotonic() + 5)
    assert end.code == "ISOLATE_FAILURE"
    assert guest.kill()
    assert run(keeper, "return 1").value == 1


def test_without_its_pid_namespaces_first_process_a_zygote_ends(keeper):
    if keeper.current().isolation != "seccomp+ns":
        pytest.skip(keeper.current().selection_reason)
    guest = keeper.spawn(start("await sleep(1)"))
    guest.receive(deadline=time.monotonic() + 5)
    zygote = zygote_pid(guest)
    children = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
    (first,) = {int(pid) for pid in children} - {guest.pid}
    os.kill(first, signal.SIGKILL)
    assert guest.receive(deadline=time.monotonic() + 5).code == "ISOLATE_FAILURE"
    assert guest.kill()
    assert run(keeper, "return 1").value == 1


def test_a_worn_out_zygote_is_replaced_before_the_old_one_drains(keeper, monkeypatch):
    monkeypatch.setattr(zygotes, "FORKS_PER_ZYGOTE", 2)
    old = keeper.spawn(start("await sleep(1); return 'old'"))
    first = zygote_pid(old)
    run(keeper, "return 1")
    young = keeper.spawn(start("await sleep(1)"))
    assert zygote_pid(young) != first
    old.receive(deadline=time.monotonic() + 5)
    old.settle([], grant=0, now=0)
    assert Path(f"/proc/{first}").exists()
    assert old.kill()
    assert young.kill()
    for _ in range(3):
        run(keeper, "return 1")
    assert not keeper._draining or all(zygote.living for zygote in keeper._draining)


def test_after_close_nothing_starts():
    keeper = Zygotes.start()
    guest = keeper.spawn(start("for(;;);"))
    keeper.close()
    assert guest.receive(deadline=time.monotonic() + 5).code == "ISOLATE_FAILURE"
    assert guest.kill()
    assert not keeper.alive()
    with pytest.raises(NotReady) as caught:
        keeper.spawn(start("return 1"))
    assert caught.value.code == "ENGINE_NOT_READY"


def test_a_zygote_started_by_a_thread_dies_with_that_thread():
    made = []
    thread = threading.Thread(target=lambda: made.append(Zygote.start()))
    thread.start()
    thread.join()
    (zygote,) = made
    zygote._process.wait(5)
    with pytest.raises(NotReady):
        zygote.spawn(start("return 1"))
    zygote.close()


def test_a_keeper_outlives_the_thread_that_made_it():
    made = []
    thread = threading.Thread(target=lambda: made.append(Zygotes.start()))
    thread.start()
    thread.join()
    assert isinstance(run(made[0], "return 1").end, Complete)
    made[0].close()


def test_without_a_system_call_table_there_is_no_filter(monkeypatch):
    monkeypatch.setattr(seccomp, "ARCHITECTURES", {})
    with pytest.raises(OSError, match="no system call table"):
        seccomp.Filter()


@pytest.fixture
def without_seccomp(tmp_path, monkeypatch):
    """The guests' code as it would be on a machine whose system calls we have no table for."""
    shutil.copytree(zygote_module._HERE / "inside", tmp_path / "inside")
    table = tmp_path / "inside" / "seccomp.py"
    table.write_text(table.read_text().replace('"x86_64"', '"vax"').replace('"aarch64"', '"pdp11"'))
    monkeypatch.setattr(zygote_module, "_HERE", tmp_path)


@pytest.mark.usefixtures("without_seccomp")
def test_weak_isolation_only_where_it_is_allowed():
    with pytest.raises(NotReady, match="no seccomp here: no system call table"):
        Zygote.start()
    zygote = Zygote.start(allow_weak=True)
    try:
        assert (zygote.isolation, zygote.selection_reason[:20]) == ("weak", "no system call table")
        assert run(zygote, "return 1").value == 1
        assert run(zygote, "for(;;);", cpu_ms=200).code == "CPU_LIMIT"
    finally:
        zygote.close()
