"""Worker processes run all tasks, and end together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from default_signals import default_signals

from poker_rl.config.validation import ConfigError
from poker_rl.training.task_pool import run_tasks

DEADLY, REFUSED, FULL, LONG = 100, 101, 102, 103


def begin(folder: Path) -> Callable[[int], None]:
    return partial(work, folder)


def work(folder: Path, task: int) -> None:
    """Write a file named by the task and the process; some numbers fail in their own way."""
    if task == DEADLY:
        os.kill(os.getpid(), signal.SIGKILL)
    if task == REFUSED:
        raise ConfigError("seed: is not lucky")
    if task == FULL:
        raise OSError(28, "No space left on device", "x.json")
    (folder / f"{task}_{os.getpid()}").touch()
    if task == LONG:
        time.sleep(3600)  # other threads may run meanwhile, as beside compiled rules and networks


def test_every_task_is_done_once(tmp_path: Path) -> None:
    assert sorted(run_tasks(partial(begin, tmp_path), range(7), 2)) == list(range(7))
    done = [path.name.split("_") for path in tmp_path.iterdir()]
    assert sorted(int(task) for task, _ in done) == list(range(7))
    assert 1 <= len({process for _, process in done}) <= 2
    assert str(os.getpid()) not in {process for _, process in done}


@pytest.mark.parametrize(
    ("task", "error", "says"),
    [
        (DEADLY, ChildProcessError, "a worker process was ended, as by lack of memory"),
        (REFUSED, ConfigError, "seed: is not lucky"),
        (FULL, OSError, r"No space left on device: 'x.json'"),
    ],
)
def test_what_ends_a_task_ends_all(
    task: int, error: type[Exception], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=says):
        list(run_tasks(partial(begin, tmp_path), [0, task], 1))
    assert [path.name.split("_")[0] for path in tmp_path.iterdir()] == ["0"]  # is kept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_they_end_with_the_process_that_shares_out(number: int, tmp_path: Path) -> None:
    (tmp_path / "done").mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        "from functools import partial\n"
        "from pathlib import Path\n"
        "from poker_rl.training.signals import interrupt_at_once\n"
        "from poker_rl.training.task_pool import run_tasks\n"
        "from test_workers import LONG, begin\n"
        "if __name__ == '__main__':\n"
        "    with interrupt_at_once():\n"
        "        list(run_tasks(partial(begin, Path('done')), [LONG] * 2, 2))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with default_signals():
        process = subprocess.Popen([sys.executable, program], env=environment, cwd=tmp_path)
    with process:
        try:
            until(lambda: len(list((tmp_path / "done").iterdir())) == 2, process)
            workers = [path.name.split("_")[1] for path in (tmp_path / "done").iterdir()]
            process.send_signal(number)
            assert process.wait() == -number
            until(lambda: not any(map(is_running, workers)))
        finally:
            process.kill()


def is_running(process: str) -> bool:
    """Return whether a process has not ended; a zombie has ended."""
    try:
        return Path("/proc", process, "stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


def until(there: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait until a condition holds, as long as the process that causes it is alive."""
    while not there():
        assert process is None or process.poll() is None
        time.sleep(0.05)
