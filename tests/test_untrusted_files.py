"""Untrusted files: they run no code, write nothing elsewhere, do not hang, print escaped."""

import json
import os
from pathlib import Path

import pytest
from commands import run_command
from run_folders import make_row, write_run_folder

from poker_rl.config import ConfigError
from poker_rl.config.option_files import read_plain_yaml
from poker_rl.play.session_file import SessionFile, read_session
from poker_rl.reports.play_tournament import read_plan
from poker_rl.reports.run_data import read_summary_run_folders
from poker_rl.storage import checkpoint, disk
from poker_rl.storage.run_files import (
    read_config_and_manifest,
    read_last_metrics_row,
    read_manifest,
    read_metrics_rows,
)
from poker_rl.sweeps.job_outcomes import read_overrides_of_jobs

pytestmark = pytest.mark.usefixtures("working_folder")

ESCAPES = "\x1b]0;renamed\x07\x1b[31mred\x9b5m\u202e"


def create_victim():
    """Create a file that must not change; return its path."""
    path = Path("victim").absolute()
    path.write_text("precious")
    return path


def test_temporary_file_has_an_unpredictable_name():
    path, written = create_victim(), Path("written")
    Path("written.part").symlink_to(path)
    names = []
    for _ in range(2):
        with disk.atomic_replacement(written) as new_path:
            names.append(new_path.name)
            new_path.write_text("new")
    assert names[0] != names[1]
    assert (path.read_text(), written.read_text()) == ("precious", "new")
    assert not written.is_symlink()


def test_session_is_not_written_through_a_link():
    Path("link.jsonl").symlink_to(create_victim())
    with pytest.raises(ConfigError, match=r"link\.jsonl is not a file"):
        SessionFile(Path("link.jsonl"))


READERS = {
    "mine.yaml": read_plain_yaml,
    "config.yaml": lambda path: read_config_and_manifest(path.parent),
    "manifest.json": lambda path: read_config_and_manifest(path.parent),
    "metrics.jsonl": read_metrics_rows,
    "tournament.yaml": lambda path: read_plan(path.parent),
    "state.pt": checkpoint.load_checked,
    "session.jsonl": read_session,
    "jobs.json": lambda path: read_overrides_of_jobs(path.parent),
    "summary.csv": read_summary_run_folders,
}


@pytest.mark.parametrize("name", READERS)
def test_pipe_or_huge_file_is_refused_before_it_is_read(name):
    path = write_run_folder("r", [make_row(0, 1)]) / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(ConfigError, match=f"{name} is not a file"):
        READERS[name](path)
    assert (read_manifest(path.parent) == {}) == (name == "manifest.json")
    assert (read_last_metrics_row(path.parent) == {}) == (name == "metrics.jsonl")
    path.unlink()
    with path.open("wb") as file:
        file.truncate(1 << 42)  # sparse: it takes no space on the disk
    with pytest.raises(ConfigError, match=f"{name} has .* bytes; allowed: up to "):
        READERS[name](path)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("jobs.json", "{}", "s is not the folder of a sweep"),
        ("000000.json", '{"status": "fin', "s/000000.json is damaged"),
        ("000000.json", '{"status": "finished", "foo": 1}', "s/000000.json is damaged"),
    ],
)
def test_damaged_sweep_is_refused(name, text, message, get_refusal):
    Path("s").mkdir()
    Path("s/jobs.json").write_text('[["seed=1"]]')
    Path("s", name).write_text(text)
    assert get_refusal("sweep", "s").startswith(message)


def test_text_of_untrusted_files_is_escaped(capsys, get_refusal):
    measured = {"eval/average/exploitability": {"unit": ESCAPES, "kind": "exact"}}
    manifest = {"cpu": ESCAPES, "measurements": measured}
    names = {"game": ESCAPES, "algo": "ppo"}
    write_run_folder("r/a", [make_row(0, 1)], manifest=manifest, names=names)
    Path("mine/game").mkdir(parents=True)
    Path("mine/game/x.yaml").write_text(f"# {ESCAPES}\nname: x\n")
    Path("s").mkdir()
    Path("s/jobs.json").write_text(json.dumps([["seed=1", ESCAPES], ["seed=2"]]))
    Path("s/000000.json").write_text(json.dumps({"status": ESCAPES, "message": ESCAPES}))
    for command in (["compare", "r"], ["list", "game", "--config-dir=mine"], ["sweep", "s"]):
        assert run_command(*command) == 0
        out, _ = capsys.readouterr()
        assert r"\x1b[31mred" in out
        assert all(line.isprintable() for line in out.splitlines())
    write_run_folder("r/b", [], manifest={"status": 1})
    assert get_refusal("compare", f"r/b{ESCAPES}").isprintable()
