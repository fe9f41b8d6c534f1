"""Kill -9 of the guest anywhere on its call's road: what was begun is finished and recorded, nothing else begins."""

import os
import signal

import pytest

from executions.models import Attempt, Execution
from forge_project.kernel import failpoints
from tests.db.executions import run_all, send

pytestmark = pytest.mark.django_db(transaction=True)
SOURCE = "await tools.call('tests.marker', {text: 'a'}); await tools.call('tests.marker', {text: 'b'}); return 1"


@pytest.mark.parametrize(
    "place", ["t1.before", "t1.after", "effect.before", "effect.middle", "effect.after", "t2.before", "t2.after"]
)
def test_a_guest_killed_under_a_living_worker(caller, runtime, marker, monkeypatch, place):
    real, killed = failpoints.reach, []

    def kill_there(name):
        row = Attempt.objects.filter(guest_pid__isnull=False).first() if name == place and not killed else None
        if row is not None:  # the turn that made the call is committed
            killed.append(row.guest_pid)
            os.kill(row.guest_pid, signal.SIGKILL)
        real(name)

    monkeypatch.setattr(failpoints, "reach", kill_there)
    sent = send(caller, source=SOURCE, interruption="resume")
    run_all(runtime)
    done = Execution.objects.get(pk=sent.ref)
    assert len(killed) == 1
    assert (done.status, done.error_code, done.attempt) == ("failed", "ISOLATE_FAILURE", 1)  # never resumed
    lines = marker.read_text().splitlines()
    applied = done.calls.filter(side_effect="applied").count()
    assert (done.side_effect, applied, len(lines)) == ("applied", len(lines), len(set(lines)))
    assert not done.calls.exclude(status__in=["succeeded", "rejected"]).exists()
