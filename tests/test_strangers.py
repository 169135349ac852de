"""Files from strangers: no code runs, nothing is written elsewhere, hangs or moves the terminal."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import TRAIN, run_command
from run_folders import make_row, write_run_folder

from poker_rl.config.option_files import read_plain_yaml
from poker_rl.config.validation import ConfigError
from poker_rl.play.play_launcher import read_saved_table
from poker_rl.play.session_journal import SessionJournal
from poker_rl.reports.run_data import iterate_sweep_runs
from poker_rl.reports.tournament_folder import read_plan
from poker_rl.storage import checkpoint, disk
from poker_rl.storage.disk import escape_control_characters
from poker_rl.storage.run_folder import (
    read_last_metrics_row,
    read_manifest,
    read_metrics_rows,
    read_run_folder,
)
from poker_rl.sweeps.sweep_summary import read_job_overrides

pytestmark = pytest.mark.usefixtures("working_folder")

ESCAPES = "\x1b]0;renamed\x07\x1b[31mred\x9b5m\u202e"
LOGGING = """
version: 1
handlers: {f: {class: logging.FileHandler, filename: victim, mode: w}}
root: {handlers: [f]}
"""


def victim() -> Path:
    """Create a file of the user's, outside the folders of strangers."""
    path = Path("victim").absolute()
    path.write_text("precious")
    return path


def option(name: str, text: str) -> None:
    path = Path("mine", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "# @package _global_\nhydra: {job: {env_set: {A: b}}}\n",
        "defaults:\n  - override /hydra/launcher: submitit_local\n",
        "defaults:\n  - override hydra/job_logging: default\n",
    ],
)
def test_settings_of_hydra_in_an_option_are_refused(text, get_refusal):
    option("experiment/x.yaml", text)
    message = get_refusal(*TRAIN, "-m", "experiment=x", "--config-dir=mine")
    assert message.startswith(f"{Path('mine/experiment/x.yaml').absolute()}: hydra: has no effect")


@pytest.mark.parametrize("path", ["hydra/job_logging/none.yaml", "player/x.yaml"])
def test_settings_of_hydra_in_other_places_have_no_effect(path):
    protected = victim()
    option(path, LOGGING)
    defaults = "defaults: [/player@hydra.job_logging: x]\n" if path.startswith("player") else ""
    option("experiment/x.yaml", f"# @package _global_\n{defaults}figures: false\n")
    assert run_command(*TRAIN, "-m", "experiment=x", "--config-dir=mine") == 0
    assert protected.read_text() == "precious"


def test_a_file_is_written_under_an_unpredictable_name():
    path, written = victim(), Path("written")
    Path("written.part").symlink_to(path)
    names = []
    for _ in range(2):
        with disk.atomic_replacement(written) as new_path:
            names.append(new_path.name)
            new_path.write_text("new")
    assert names[0] != names[1]
    assert (path.read_text(), written.read_text()) == ("precious", "new")
    assert not written.is_symlink()


@pytest.mark.parametrize("name", ["taken", "taken/players"])
def test_a_folder_with_a_link_or_a_pipe_is_not_written_to(name):
    Path("elsewhere").mkdir()
    Path(name).mkdir(parents=True)
    disk.check_no_special_files(Path("taken"))
    Path(name, "entry").symlink_to("../elsewhere", target_is_directory=True)
    with pytest.raises(ConfigError, match=f"{name}/entry is a link"):
        disk.check_no_special_files(Path("taken"))
    Path(name, "entry").unlink()
    os.mkfifo(Path(name, "entry"))
    with pytest.raises(ConfigError, match=f"{name}/entry is not a file"):
        disk.check_no_special_files(Path("taken"))


@pytest.mark.parametrize("name", ["players", "figures", "evaluations", "metrics.jsonl"])
def test_a_run_with_a_link_is_neither_resumed_nor_evaluated(name, finished_run, get_refusal):
    run = finished_run
    elsewhere = Path("elsewhere").absolute()
    if (run / name).exists():
        shutil.move(run / name, elsewhere)
    else:
        elsewhere.mkdir()
    (run / name).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    for command in (["train", f"resume={run}", "budget=20"], ["evaluate", f"run={run}"]):
        assert f"{run / name} is a link" in get_refusal(*command)
    assert sorted(elsewhere.rglob("*")) == before


def test_links_where_a_run_a_study_and_a_tournament_begin(get_refusal):
    path = victim()
    for folder, command in (
        ("outputs/kuhn/cfr_plus/new", [*TRAIN, "name=new"]),
        ("t", ["tournament", "game=kuhn", "players=[call,raise]", "deals=30", "out=t"]),
    ):
        Path(folder).mkdir(parents=True)
        name = "metrics.jsonl" if command[0] == "train" else "tournament.yaml.part"
        Path(folder, name).symlink_to(path)
        assert f"{folder}/{name} is a link" in get_refusal(*command)
    assert path.read_text() == "precious"


def test_a_session_is_not_written_through_a_link():
    Path("link.jsonl").symlink_to(victim())
    with pytest.raises(ConfigError, match=r"link\.jsonl is not a file"):
        SessionJournal(Path("link.jsonl"))


READERS: dict[str, Callable[[Path], object]] = {
    "mine.yaml": read_plain_yaml,
    "config.yaml": lambda path: read_run_folder(path.parent),
    "manifest.json": lambda path: read_run_folder(path.parent),
    "metrics.jsonl": read_metrics_rows,
    "tournament.yaml": lambda path: read_plan(path.parent),
    "state.pt": checkpoint.load_checked,
    "session.jsonl": read_saved_table,
    "jobs.json": lambda path: read_job_overrides(path.parent),
    "summary.csv": lambda path: list(iterate_sweep_runs(path)),
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_or_a_huge_file_is_refused_before_it_is_read(name):
    path = write_run_folder("r", [make_row(0, 1)]) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match=f"{name} is not a file"):
        READERS[name](path)
    assert (read_manifest(path.parent) == {}) == (name == "manifest.json")
    assert (read_last_metrics_row(path.parent) == {}) == (name == "metrics.jsonl")
    path.unlink()
    with path.open("wb") as file:
        file.truncate(1 << 42)  # takes nothing of the disk
    with pytest.raises(ConfigError, match=f"{name} has .* bytes; allowed: up to "):
        READERS[name](path)


def billions() -> list[Any]:
    lists: list[Any] = [0.0] * 10
    for _ in range(10):
        lists = [lists] * 10
    return lists


def endless() -> list[Any]:
    items: list[Any] = []
    items.append(items)
    return items


@pytest.mark.parametrize(
    "value",
    [
        billions(),
        endless(),
        torch.zeros(1).expand(10**12),
        torch.zeros(2, device="meta"),
        torch.eye(2).to_sparse(),
    ],
    ids=["billions", "endless", "strides", "meta", "sparse"],
)
def test_checkpoints_with_more_values_than_bytes(value):
    torch.save({"game": {}, "players": {"current": value}}, "x.pt")
    with pytest.raises(ConfigError, match=r"x\.pt"):
        checkpoint.load_checked(Path("x.pt"))


def test_a_checkpoint_that_unpacks_to_more_bytes():
    torch.save({"a": torch.zeros(10)}, "x.pt")
    with zipfile.ZipFile("x.pt") as plain, zipfile.ZipFile("y.pt", "w", zipfile.ZIP_DEFLATED) as y:
        for entry in plain.infolist():
            y.writestr(entry.filename, plain.read(entry))
        y.writestr("x/data/9", bytes(10**7))
    with pytest.raises(ConfigError, match=r"y\.pt: unpacks to more bytes than it has"):
        checkpoint.load_checked(Path("y.pt"))


def test_control_characters_are_escaped():
    assert escape_control_characters("½ é 牌\n") == "½ é 牌\n"
    assert escape_control_characters(ESCAPES) == r"\x1b]0;renamed\x07\x1b[31mred\x9b5m\u202e"


def test_text_of_strangers_is_escaped(capsys):
    measured = {"eval/average/exploitability": {"unit": ESCAPES, "kind": "exact"}}
    manifest = {"cpu": ESCAPES, "measurements": measured}
    write_run_folder(
        "r/a", [make_row(0, 1)], manifest=manifest, names={"game": ESCAPES, "algo": "ppo"}
    )
    option("game/x.yaml", f"# {ESCAPES}\nname: x\n")
    Path("s").mkdir()
    Path("s/jobs.json").write_text(json.dumps([["seed=1", ESCAPES], ["seed=2"]]))
    Path("s/000000.json").write_text(json.dumps({"status": ESCAPES, "message": ESCAPES}))
    for command in (["compare", "r"], ["list", "game", "--config-dir=mine"], ["sweep", "s"]):
        assert run_command(*command) == 0
        out, _ = capsys.readouterr()
        assert r"\x1b[31mred" in out
        assert all(line.isprintable() for line in out.splitlines())
    write_run_folder("r/b", [], manifest={"status": 1})
    assert run_command("compare", f"r/b{ESCAPES}") == 2
    assert capsys.readouterr().err.strip("\n").isprintable()
