"""`poker-rl watch`: progress of a run, as lines in a pipe and as a table in a terminal."""

import json
import sys
from unittest.mock import Mock

import pytest
from commands import run_command
from run_folders import make_row, write_run_folder

from poker_rl.config import plugins
from poker_rl.reports import watch_run


@pytest.fixture
def run(tmp_path):
    rows = [make_row(0, 0.5), make_row(50, 0.25, **{"time/decisions_per_second": 1234.5})]
    return write_run_folder(str(tmp_path / "run"), rows, manifest={"status": "running"})


def test_pipe_gets_one_line_per_row_until_the_run_ends(run, monkeypatch, capsys):
    def add_last_row(seconds):
        with (run / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(make_row(100, 0.125)) + "\n")
        manifest = json.loads((run / "manifest.json").read_text()) | {"status": "finished"}
        (run / "manifest.json").write_text(json.dumps(manifest))

    monkeypatch.setattr(watch_run.time, "sleep", add_last_row)
    assert run_command("watch", str(run)) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("progress: 0 of 100 decisions (0%), average/exploitability: 0.5 ante")
    assert second == (
        "progress: 50 of 100 decisions (50%), average/exploitability: 0.25 ante/hand,"
        " rates: 1,234 decisions/s, time: 0:05:00 spent, 0:05:00 left"
    )
    assert third.endswith("time: 0:10:00 spent")


def test_table_stays_on_the_screen_after_ctrl_c(run, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(watch_run.time, "sleep", Mock(side_effect=KeyboardInterrupt))
    assert run_command("watch", str(run)) == 130
    out = capsys.readouterr().out
    assert "0.25 ante/hand  █▁" in out
    assert "running" in out


def test_mistakes_are_explained(run, monkeypatch, get_refusal):
    assert "is no run folder" in get_refusal("watch", str(run.parent))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    assert "pip install 'poker-rl[watch]'" in get_refusal("watch", str(run))
