"""Damaged or hostile studies."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from commands import run_command
from test_tune import TUNE

from poker_rl.sweeps import tune as tune_module

SPACE = "update trial_params set distribution_json = "
FLOAT = '\'{"name": "FloatDistribution", "attributes": {"low": 1, "high": 9, "log": false}}\''
MARK = "insert into trial_system_attributes (trial_id, key, value_json) values (1, "


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a study of one completed trial."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert run_command(*TUNE, "trials=1") == 0
    return folder


@pytest.fixture(autouse=True)
def working_folder(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test its own copy of the study in `study`, without figures."""
    shutil.copytree(whole, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tune_module, "save_figures", lambda *_: None)


def execute(*statements: str) -> None:
    """Change the database of the study."""
    connection = sqlite3.connect("study/study.db")
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statements",
    {
        "another space": [SPACE + FLOAT],
        "no distribution": [SPACE + "'{\"name\": \"x\", \"attributes\": {}}'"],
        "another setting": ["update trial_params set param_name = 'out' where param_id = 1"],
        "a value outside": ["update trial_params set param_value = 1e9"],
        "no state": ["update trials set state = 'x'"],
        "no value": ["delete from trial_values"],
        "no number": ["update trial_values set value_type = 'INF_POS'"],
        "no step": ["update trial_intermediate_values set intermediate_value_type = 'x'"],
        "another direction": ["update study_directions set direction = 'MAXIMIZE'"],
        "two directions": ["insert into study_directions values (9, 'MINIMIZE', 1, 1)"],
        "a sign of life": [
            "update trials set state = 'RUNNING'",
            "update trial_heartbeats set heartbeat = 'soon'",
        ],
        "a history": [MARK + "'retry_history', '5')"],
        "no first try": [MARK + "'failed_trial', '\"x\"')"],
        "another version": ["update alembic_version set version_num = 'v9'"],
    }.values(),
)  # fmt: skip
def test_a_damaged_study_is_refused_in_a_line(statements, get_refusal):
    execute(*statements)
    message = get_refusal(*TUNE, "trials=2")
    assert "study/study.db is damaged or no study of poker-rl: " in message
    assert len(list(Path("study/kuhn/dcfr").iterdir())) == 1
