"""Fixtures for tests of the command line, and settings of all tests."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import TRAIN, list_runs, run_command
from hypothesis import HealthCheck, settings

from poker_rl.config import set_threads
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.storage.terminal_printing import COMPILING_MESSAGE
from poker_rl.training import start_run


@pytest.fixture(autouse=True, scope="session")
def _strict_where():
    """Make `np.where` raise for an integer that an array's type cannot hold, as NumPy 2.5 does."""
    where = np.where

    def strict(condition, *values):
        numbers = [value for value in values if type(value) is int]
        for array in values:
            if isinstance(array, np.ndarray | np.generic) and array.dtype.kind in "iu":
                np.array(numbers, array.dtype)  # raises OverflowError
        return where(condition, *values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "where", strict)
        yield


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Use one thread; the other cores are for the other test processes."""
    set_threads(1)


def pytest_collection_modifyitems(items):
    """Start the slowest tests first, so that parallel test processes end at about the same time."""
    slow = "simulated_device", "distributed_processes", "docs", "loggers", "plugins", "wheel"
    items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in slow)


# Hypothesis must not fail a test because the machine is slow.
settings.register_profile("any", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any")


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    """Make an empty folder the working folder; runs draw no figures, which would take most time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["poker-rl"])
    monkeypatch.setattr(PlayerEvaluator, "build_figures", lambda *_: {})


@pytest.fixture(scope="session")
def finished_outputs(tmp_path_factory):
    """Return the outputs folder with one finished run of the command TRAIN."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        assert run_command(*TRAIN, "figures=false") == 0
        return Path("outputs").absolute()


@pytest.fixture
def finished_run(working_folder, finished_outputs):
    """Return the folder of a finished run, copied into the working folder instead of trained."""
    shutil.copytree(finished_outputs, "outputs")
    return list_runs()[0]


@pytest.fixture
def get_refusal(capsys):
    """Return a function that runs a command, checks that it is refused, and returns the message."""

    def call(*arguments):
        capsys.readouterr()
        assert run_command(*arguments) == 2
        out, err = capsys.readouterr()
        assert out in ("", f"{COMPILING_MESSAGE}\n")
        assert err.startswith("poker-rl: ")
        assert "Traceback" not in err
        assert len(err.splitlines()) <= 4
        return err.removeprefix("poker-rl: ").strip()

    return call


@pytest.fixture
def started_configs(monkeypatch):
    """Return a list that gets the config of each started run; nothing is trained."""
    configs = []

    def train(config, *_, **__):
        configs.append(config)

    monkeypatch.setattr(start_run, "train_in_folder", train)
    return configs
