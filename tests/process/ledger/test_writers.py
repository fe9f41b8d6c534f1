"""32 writers in eight processes, on one chain and on fifty; a crash inside a write leaves all of it or nothing."""

import subprocess

import pytest

LEDGER = ["ledger.before_insert", "ledger.after_insert", "ledger.after_head"]


@pytest.mark.parametrize("chains", [1, 50])
def test_32_writers_leave_no_gap_and_no_fork(site, chains):
    names = ",".join(f"chain-{n}" for n in range(chains))
    writers = [
        site.python("tests.process.ledger.writer", names, "100", str(seed), "4", stdin=subprocess.PIPE)
        for seed in range(8)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:  # all at once
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        out, _ = writer.communicate(timeout=120)
        assert writer.returncode == 0, out  # a server that is full for a moment is waited for, and said
    assert site.verify() == {"events": 3200, "invocations": chains, "findings": []}


@pytest.mark.parametrize("action", ["crash", "kill"])
@pytest.mark.parametrize("place", LEDGER)
def test_a_crash_inside_a_write_leaves_all_or_nothing(site, place, action):
    env = {"FORGE_FAILPOINTS": f"{place}:3={action}"}
    writer = site.python("tests.process.ledger.writer", "chain", "5", "0", stdin=subprocess.PIPE, env=env)
    out, _ = writer.communicate("go\n", timeout=60)
    assert writer.returncode == (3 if action == "crash" else -9)
    assert out.split() == ["ready", "0", "1"]  # it did die in the third write
    assert site.verify()["events"] == 2
    again = site.python("tests.process.ledger.writer", "chain", "4", "0", stdin=subprocess.PIPE)
    again.communicate("go\n", timeout=60)
    assert site.verify()["events"] == 6
