"""Tests on a device that takes no tensor of the CPU, as a GPU: see `helpers/device_simulator.py`.

A device can be registered once per process, and torch then uses it as the accelerator. So these
tests have their own processes, and can be run alone: `pytest tests/simulated_device/learners.py`.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from torch.utils import backend_registration

FOLDER = Path(__file__).parent / "simulated_device"


@pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
    reason="this version of torch cannot simulate a device",
)
@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.py")))
def test_on_a_device_of_its_own(file):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(FOLDER / file)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
