"""A run folder with damaged or missing parts is not resumed, and stays unchanged."""

import os
import shutil
from pathlib import Path

import pytest
import tiny
import torch

from poker_rl.config.validation import ConfigError
from poker_rl.storage import checkpoint

ZEROS = torch.zeros(7)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder of all runs with one finished run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("finished"))
        tiny.train(budget=100, figures=False)
        return Path("outputs").absolute()


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    """Copy of the folder of the finished run in the working folder."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(finished, "outputs")
    return tiny.only_folder()


def contents(folder):
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def spoilt(change):
    """Return a function that changes the contents of a checkpoint."""

    def spoil(folder):
        state = checkpoint.load_checked(folder / "state.pt")
        change(state)
        checkpoint.save_atomically(folder / "state.pt", state)

    return spoil


def weights(value):
    return lambda state: state["algorithm"]["net"]["bias"].fill_(value)


def garbage(folder):
    path = folder / "metrics.jsonl"
    path.write_bytes(b"{" * 30 + b"\n" + path.read_bytes()[31:])


def instead(name, make):
    """Return a function that replaces a file or a folder by something else."""

    def spoil(folder):
        (folder / name).rename("aside")
        make(folder / name)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    {
        "no progress": (spoilt(lambda s: s.pop("progress")), "does not fit .*: 'progress'"),
        "game": (spoilt(lambda s: s.update(game={"name": "other"})), "another game"),
        "shape": (spoilt(lambda s: s["algorithm"]["net"].update(bias=ZEROS)), "does not fit"),
        "nan": (spoilt(weights(float("nan"))), r"can't be trained on: net\.bias is not finite"),
        "garbage": (garbage, "metrics.jsonl is damaged: line 1 is not a row of numbers"),
        "rows": (lambda f: (f / "metrics.jsonl").write_text("{}\n"), "rows are gone"),
        "no metrics": (lambda f: (f / "metrics.jsonl").unlink(), "metrics.jsonl: no such file"),
        "cut short": (lambda f: os.truncate(f / "state.pt", 500), "is damaged"),
        "config": (instead("config.yaml", os.mkfifo), "config.yaml is not a file"),
    }.values(),
)
def test_what_does_not_fit_is_refused_untouched(run, spoil, message):
    spoil(run)
    before = contents(run)
    with pytest.raises(ConfigError, match=message) as refusal:
        tiny.train(run, budget=200, figures=False)
    assert "\n" not in str(refusal.value)
    assert contents(run) == before


def test_what_is_refused_late_is_refused_untouched(run, monkeypatch):
    """For example, a worker's damaged file is read after the run's own."""

    def damaged(*_):
        raise ConfigError("damaged")

    tiny.train(run, budget=200, figures=False)
    before = contents(run)
    with monkeypatch.context() as patch:
        patch.setattr("poker_rl.training.run_checkpoints.Checkpoints.synchronize", damaged)
        with pytest.raises(ConfigError, match="damaged"):
            tiny.train(run, budget=300, figures=False)
    assert contents(run) == before
    tiny.train(run, budget=300, figures=False)
    assert len({row["decisions"] for row in tiny.rows(run)}) == len(tiny.rows(run))
