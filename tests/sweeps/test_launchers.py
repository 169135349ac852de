"""Sweeps by launchers of clusters, on this machine: queued jobs are killed and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from commands import ENVIRONMENT, PROGRAM, TRAIN, list_runs, read_last_row

from poker_rl.storage.run_folder import read_last_metrics_row

pytestmark = pytest.mark.usefixtures("working_folder")


def until(condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
    """Wait until a condition holds, and return its value."""
    while not (held := condition()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    return held


def manifest() -> dict[str, Any]:
    (folder,) = list_runs("kuhn/cfr_plus")
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


def test_a_requeued_job_resumes_in_its_folder():
    """As with SLURM, a signal arrives before the time limit and the job starts again."""
    if find_spec("submitit") is None:
        pytest.skip("submitit is not installed")
    command = [*PROGRAM, *TRAIN[:2], "-m", "hydra/launcher=submitit_local", "seed=1"]
    command += ["budget=1e9", "evaluate_every=1e4", "checkpoint_every=1e8"]
    process = subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )

    def job() -> int:
        """Return the process that trains, the only child of submitit's process of a job."""
        (queued,) = [
            path for path in Path("outputs").glob("sweeps/*/.submitit/*") if path.name != "%j"
        ]
        return int(Path(f"/proc/{queued.name}/task/{queued.name}/children").read_text())

    until(lambda: list(Path("outputs").glob("kuhn/*/*/state.pt")), process)
    (folder,) = list_runs("kuhn/cfr_plus")
    until(lambda: read_last_metrics_row(folder).get("iterations", 0) > 0, process)
    first = job()
    os.kill(first, signal.SIGUSR2)
    until(lambda: manifest()["resumed"] and manifest()["status"] == "running", process)
    began = manifest()["resumed"][0]["from"]["iterations"]
    until(
        lambda: read_last_metrics_row(folder).get("iterations", 0) > began, process
    )  # it trains again
    again = job()
    assert again != first
    os.kill(again, signal.SIGTERM)  # the job is cancelled
    out, err = process.communicate()
    assert process.returncode == 143, err
    assert "interrupted" in out
    assert "Traceback" not in err
    assert began > 0
    assert manifest()["status"] == "interrupted"
    assert manifest()["checkpoint"]["iterations"] > began


def test_jobs_of_ray():
    if find_spec("ray") is None:  # looked for without importing it, which takes seconds
        pytest.skip("ray is not installed")
    command = [*PROGRAM, *TRAIN, "-m", "hydra/launcher=ray", "seed=1,x,2"]
    command += ["hydra.launcher.ray.init.num_cpus=2", "figures=false"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert 'refused: seed: "x" is not an integer' in done.stderr
    assert [read_last_row(folder)["iterations"] for folder in list_runs("kuhn/cfr_plus")] == [
        10,
        10,
    ]
