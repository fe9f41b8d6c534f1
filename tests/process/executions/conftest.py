import os
import signal

import pytest

from tests.inotify import Renames
from tests.sites import Hand


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "ws"
    place.mkdir()
    return place


@pytest.fixture
def renames(folder):
    return Renames(folder)


@pytest.fixture
def hand(site, folder):
    made = Hand(site)
    made.do("setup")
    made.do("workspace", path=str(folder))
    yield made
    made.close()


@pytest.fixture
def workers(site):
    """Starts workers; whatever is left of them is killed at the end."""
    started = []

    def start(**env):
        started.append(site.worker(**env))
        return started[-1]

    yield start
    for worker in started:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
