"""A bad setting is one clear line; keys are made once."""

import os
import stat
import subprocess
import sys

import pytest

from forge_project import env
from tests.sites import ROOT


def start(var, **settings):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FORGE_")}
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env=clean | {"FORGE_VAR": str(var)} | settings,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"FORGE_MODE": "huge"}, "FORGE_MODE='huge': expected one of embedded, scaled"),
        ({"FORGE_MODE": "scaled"}, "FORGE_SECRET_KEY: missing; scaled mode requires"),
        ({"FORGE_NETWORK_ALLOW": "10.0.0.1/8"}, "FORGE_NETWORK_ALLOW: 10.0.0.1/8 has host bits set"),
        ({"FORGE_WORKER_THREADS": "many"}, "FORGE_WORKER_THREADS='many': expected a whole number from 1 to 256"),
        ({"FORGE_API_DECISIONS": "yes"}, "FORGE_API_DECISIONS='yes': expected 0 or 1"),
        ({"FORGE_DATABASE_URL": "mysql://x"}, "FORGE_DATABASE_URL: expected sqlite:///PATH or postgres://"),
        ({"FORGE_FAILPOINTS": "nowhere=kill"}, "FORGE_FAILPOINTS: 'nowhere=kill' is not"),
        ({"FORGE_SEALING_KEYS": "short"}, "FORGE_SEALING_KEYS"),
        ({"FORGE_CHECKPOINT_SINK": "ftp://x/y"}, "FORGE_CHECKPOINT_SINK: expected a path, an http(s)://HOST URL"),
        ({"FORGE_CHECKPOINT_SINK": "https://"}, "FORGE_CHECKPOINT_SINK: expected a path"),
        ({"FORGE_CHECKPOINT_SINK": "http://h:none/"}, "FORGE_CHECKPOINT_SINK: expected a path"),
        ({"FORGE_CHECKPOINT_SINK": "/a,/b"}, "FORGE_CHECKPOINT_SINK: expected a path"),
    ],
)
def test_a_bad_setting_ends_start_up_with_one_line(tmp_path, settings, line):
    done = start(tmp_path / "var", **settings)
    assert done.returncode == 2
    assert done.stderr.startswith(f"forge: {line}")
    assert len(done.stderr.splitlines()) == 1
    assert settings.get("FORGE_SEALING_KEYS", "\0") not in done.stderr


def test_embedded_keys_are_written_once_and_for_us_only(tmp_path):
    first = env.keys(tmp_path / "var", "embedded")
    assert env.keys(tmp_path / "var", "embedded") == first
    assert stat.S_IMODE((tmp_path / "var" / "keys.env").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "var").stat().st_mode) == 0o700


def test_a_sink_is_a_path_a_url_or_both(monkeypatch):
    monkeypatch.setenv("SINK", "https://keeper.example/in, here/sink.jsonl")
    assert env.sinks("SINK") == f"{os.getcwd()}/here/sink.jsonl,https://keeper.example/in"
    monkeypatch.setenv("SINK", "")
    assert env.sinks("SINK") == ""
