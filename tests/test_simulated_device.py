"""Run the tests on a simulated GPU, see `helpers/device_simulator.py`, one process per file.

A device can be registered only once per process, and torch then uses it as the accelerator. Each
file can also be run alone: `pytest tests/simulated_device/learners.py`.
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
