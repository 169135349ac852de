"""Tests on a device that takes no tensor of the CPU, as a GPU takes none; see `helpers/pretend.py`.

Torch is told of a device once and then takes it for the machine's accelerator. So these tests have
processes of their own, and can be run alone: `python -m pytest tests/pretended/learners.py`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "pretended"


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.py")))
def test_on_a_device_of_its_own(file: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(FOLDER / file)],
        capture_output=True,
        text=True,
        cwd=FOLDER.parents[1],
    )
    assert done.returncode == 0, done.stdout + done.stderr
