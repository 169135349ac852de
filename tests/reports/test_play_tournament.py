"""`poker-rl tournament`: played table by table, resumed, and shared by several processes."""

import csv
import json
from pathlib import Path

import pytest
from commands import replace_settings, run_command

from poker_rl.config.option_files import load_option
from poker_rl.reports import play_tournament
from poker_rl.storage.disk import exclusive_lock

pytestmark = pytest.mark.usefixtures("working_folder")

LEDUC = ["tournament", "game=leduc", "players=[uniform,call,raise]", "deals=50"]
FAST = [*LEDUC, "figure=false"]


def read_tables(folder):
    return {path.name: path.read_bytes() for path in Path(folder, "tables").iterdir()}


def read_csv(folder):
    return Path(folder, "results.csv").read_text()


def read_rows(folder):
    return list(csv.DictReader(read_csv(folder).splitlines()))


def test_tournament_prints_and_saves_results_tables_and_figure(capsys):
    assert run_command(*LEDUC) == 0
    out = capsys.readouterr().out
    (folder,) = Path("outputs/tournaments/leduc").iterdir()
    assert f"poker-rl tournament resume={folder}" in out
    assert "leduc: 3 players, every pair; the same 50 deals at every table" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["rank", "player", "won", "behind", "the", "one", "above", "Elo"] in lines
    report = json.loads((folder / "results.json").read_text())
    won = {(result["player"], result["measure"]): result["value"] for result in report["results"]}
    assert won["raise", "won/call"] == won["call", "won/raise"] == 0  # neither player ever folds
    assert won["raise", "won/uniform"] == -won["uniform", "won/raise"] > 0
    rows = read_rows(str(folder))
    assert len(rows) == 3 * 3 - 1 + 6  # won, behind (not of the first), Elo; 6 pairs
    assert (folder / "cross_table.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(read_tables(str(folder))) == [f"00000{table}.npy" for table in range(3)]


def test_resume_plays_only_missing_tables(monkeypatch, capsys):
    assert run_command(*FAST, "out=whole") == 0
    played, may_play = [], 1
    play = play_tournament.play_deals

    def record_or_interrupt(*arguments, table):
        if len(played) == may_play:
            raise KeyboardInterrupt
        played.append(table)
        return play(*arguments, table=table)

    monkeypatch.setattr(play_tournament, "play_deals", record_or_interrupt)
    assert run_command(*FAST, "out=part") == 130
    assert len(read_tables("part")) == 1
    assert not Path("part/results.csv").exists()
    may_play = 4
    capsys.readouterr()
    assert run_command("tournament", "resume=part", "figure=false") == 0
    assert "2 of 3 tables to play" in capsys.readouterr().out
    assert played == [0, 1, 2]
    assert (read_tables("part"), read_csv("part")) == (read_tables("whole"), read_csv("whole"))
    assert run_command(*FAST, "out=part") == 0  # no table is left to play
    assert len(played) == 3


def test_results_do_not_depend_on_the_number_of_processes():
    Path("mine.yaml").write_text(json.dumps({**load_option("player", "mcts"), "simulations": 5}))
    kuhn = replace_settings(FAST, "game=kuhn", "players=[uniform,call,mine.yaml]")
    assert run_command(*kuhn, "out=one") == 0
    assert run_command(*kuhn, "out=two", "workers=2") == 0
    assert (read_tables("one"), read_csv("one")) == (read_tables("two"), read_csv("two"))


def test_changed_settings_are_refused_by_name(get_refusal):
    Path("mine.yaml").write_text(json.dumps({**load_option("player", "mcts"), "simulations": 5}))
    command = replace_settings(FAST, "players=[call,mine.yaml]", "out=there")
    assert run_command(*command) == 0
    before = read_tables("there")
    for key, value in {"deals": 60, "game.ante": 2, "rounds": 3}.items():
        message = get_refusal(*replace_settings(command, f"{key}={value}"))
        assert message == f"{key}: the tournament in there has another; give a new folder"
    message = get_refusal(*replace_settings(command, "players=[call,raise]"))
    assert message == "players.mine.yaml: the tournament in there has another; give a new folder"
    assert "seed: is that of the tour" in get_refusal("tournament", "resume=there", "seed=0")
    Path("mine.yaml").write_text(json.dumps({**load_option("player", "mcts"), "simulations": 6}))
    assert get_refusal(*command).startswith("players.mine.yaml.simulations: the")
    assert run_command("tournament", "resume=there", "figure=false") == 0  # plays the saved bot
    assert read_tables("there") == before

    Path("results").mkdir()
    Path("results/results.csv").write_text("of something else")
    message = get_refusal(*replace_settings(command, "out=results"))
    assert message == "out: results is not the folder of a tournament, it has no tournament.yaml"
    assert [path.name for path in Path("results").iterdir()] == ["results.csv"]
    (table,) = Path("there/tables").iterdir()
    table.write_text('{"players": ["call"]}')
    assert run_command("tournament", "resume=there") == 2
    Path("there/tournament.yaml").write_text("game: {}")
    message = get_refusal("tournament", "resume=there")
    assert "tournament.yaml is not what a tournament writes" in message


def test_tournament_in_use_is_refused(get_refusal):
    assert run_command(*FAST, "out=there") == 0
    before = read_tables("there")
    with exclusive_lock(Path("there"), "playing it"):
        in_use = "there is in use: another process is playing it"
        assert get_refusal("tournament", "resume=there", "figure=false") == in_use
        assert get_refusal(*FAST, "out=there") == in_use
    assert run_command(*FAST, "out=there") == 0
    assert read_tables("there") == before


def test_run_takes_part_with_its_headline_player(finished_run, get_refusal):
    run = finished_run
    command = replace_settings(FAST, "game=kuhn", f"players=[call,{run},equilibrium]", "out=there")
    assert run_command(*command) == 0
    names = {row["player"] for row in read_rows("there")}
    assert any(name.startswith(f"{run}@") and name.endswith(":average") for name in names)
    (run_name,) = names - {"call", "equilibrium"}
    message = get_refusal(*replace_settings(command, f"players=[{run},{run_name}]", "out=twice"))
    assert message == f"players: {run_name} is named twice; name each player once"
    message = get_refusal(*replace_settings(FAST, f"players=[call,{run}]", "out=other"))
    assert message.startswith("players: ")
    assert "is of kuhn, not of this leduc" in message
    assert not Path("twice").exists()
    assert not Path("other").exists()
