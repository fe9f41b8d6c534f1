"""Every failpoint in every ledger write, by crash and by real SIGKILL: all of the step or nothing, then once more."""

import json
import subprocess

from tests.process.ledger.killer import POINTS


def test_every_write_is_all_or_nothing(site):
    killer = site.python("tests.process.ledger.killer", stderr=subprocess.PIPE)
    out, err = killer.communicate(timeout=300)
    assert killer.returncode == 0, err
    cases = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    assert len(cases) == 2 * sum(map(len, POINTS.values()))
    for case in cases:
        assert case["died"] == (3 if case["action"] == "crash" else -9), (case, err)
        assert (case["kept"], case["again"], case["findings"]) == (True, True, []), (case, err)
    assert site.verify()["findings"] == []
