"""Tests on a simulated device with the errors of a GPU, see `helpers/device_simulator.py`.

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
def test_file_passes_in_its_own_process(file):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(FOLDER / file)]
    process = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert process.returncode == 0, process.stdout + process.stderr
