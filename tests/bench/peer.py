"""The figures of node worker threads with npm's quickjs-wasi, measured in the same run."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PEER = "node worker_threads + quickjs-wasi"
_NAMED = "FORGE_BENCH_PEER"  # a directory where `npm install quickjs-wasi` was run


def figures() -> dict[str, float]:
    """By figure's name; empty, with a note on stderr, where the peer can't be had."""
    if not shutil.which("node"):
        return _without("no node on PATH")
    with tempfile.TemporaryDirectory(prefix="forge-peer-") as made:
        place = os.environ.get(_NAMED, made)
        try:
            if place == made:
                command = ["npm", "install", "--prefix", place, "--no-audit", "--no-fund", "--silent", "quickjs-wasi"]
                subprocess.run(command, check=True, capture_output=True, timeout=90)
            script = str(Path(__file__).with_name("peer.mjs"))
            said = subprocess.run(["node", script, place], check=True, capture_output=True, text=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            return _without(f"{type(error).__name__}: {getattr(error, 'stderr', '') or error}")
    told: dict[str, float] = json.loads(said.stdout)
    return told


def _without(reason: str) -> dict[str, float]:
    print(f"bench: without the peer ({str(reason)[:200]})", file=sys.stderr)
    return {}
