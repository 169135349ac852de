"""The load test of the play page: a small one, to its last line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/load.py"


def load(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True)


def test_some_hands_of_one_person() -> None:
    small = ["--sessions", "2", "--seconds", "1", "--think", "0.2", "--hands", "31"]
    done = load(*small, "game=kuhn", "against=[call]")
    assert "Traceback" not in done.stderr
    assert "2 sessions opened" in done.stdout
    assert "as played: " in done.stdout
    assert "EV-adjusted: " in done.stdout.splitlines()[-1]


def test_nobody_at_all() -> None:
    done = load("--sessions", "0")
    assert done.returncode == 2
    assert "--sessions" in done.stderr.splitlines()[-1]
