"""Commands for the tests of the command line."""

import json
import os
import resource
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import poker_rl
from poker_rl import cli

TRAIN = ["train", "algo=cfr_plus", "budget=10", "evaluation.deals=30"]  # the fastest run there is
PROGRAM = [sys.executable, "-c", "from poker_rl.cli import main; main()"]  # without arguments
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1])}


def run_command(*arguments):
    """Run a command of `poker-rl` in this process; return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["poker-rl", *arguments])
        with pytest.raises(SystemExit) as exit_error:
            cli.main()
    return exit_error.value.code


def replace_settings(command, *words):
    """Return `command` with the settings `words`, which replace settings with equal keys."""
    return list({word.partition("=")[0]: word for word in (*command, *words)}.values())


def list_runs(name="*/*"):
    """Return the run folders in `outputs` whose `GAME/ALGORITHM` matches the pattern `name`."""
    return [path for path in sorted(Path("outputs").glob(f"{name}/*")) if path.is_dir()]


def read_last_row(folder):
    """Return the last row of a run's metrics."""
    return json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])


@contextmanager
def limit_file_size(size):
    """Limit the size of files in this context; longer writes fail, as if the disk were full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
