"""Tournaments by the command line: kept table by table, gone on with, shared out over processes."""

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


def tables(folder):
    return {path.name: path.read_bytes() for path in Path(folder, "tables").iterdir()}


def numbers(folder):
    return Path(folder, "results.csv").read_text()


def rows_of(folder):
    return list(csv.DictReader(numbers(folder).splitlines()))


def test_a_tournament_in_four_forms(capsys):
    assert run_command(*LEDUC) == 0
    out = capsys.readouterr().out
    (folder,) = Path("outputs/tournaments/leduc").iterdir()
    assert f"poker-rl tournament resume={folder}" in out
    assert "leduc: 3 players, every pair; the same 50 deals at every table" in out
    told = [line.split() for line in out.splitlines()]
    assert ["rank", "player", "won", "behind", "the", "one", "above", "Elo"] in told
    report = json.loads((folder / "results.json").read_text())
    won = {(one["player"], one["measure"]): one["value"] for one in report["results"]}
    assert won["raise", "won/call"] == won["call", "won/raise"] == 0  # neither ever folds
    assert won["raise", "won/uniform"] == -won["uniform", "won/raise"] > 0
    rows = rows_of(str(folder))
    assert len(rows) == 3 * 3 - 1 + 6  # won, behind and Elo of each, and the cross table
    assert (folder / "cross_table.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(tables(str(folder))) == [f"00000{table}.npy" for table in range(3)]


def test_only_what_is_missing_is_played(monkeypatch, capsys):
    assert run_command(*FAST, "out=whole") == 0
    played, may_play = [], 1
    play = play_tournament.play_deals

    def counting(*given, table):
        if len(played) == may_play:
            raise KeyboardInterrupt
        played.append(table)
        return play(*given, table=table)

    monkeypatch.setattr(play_tournament, "play_deals", counting)
    assert run_command(*FAST, "out=part") == 130
    assert len(tables("part")) == 1
    assert not Path("part/results.csv").exists()
    may_play = 4
    capsys.readouterr()
    assert run_command("tournament", "resume=part", "figure=false") == 0
    assert "2 of 3 tables to play" in capsys.readouterr().out
    assert played == [0, 1, 2]
    assert (tables("part"), numbers("part")) == (tables("whole"), numbers("whole"))
    assert run_command(*FAST, "out=part") == 0  # the same command again
    assert len(played) == 3


def test_results_do_not_depend_on_the_processes():
    Path("mine.yaml").write_text(json.dumps({**load_option("player", "mcts"), "simulations": 5}))
    kuhn = replace_settings(FAST, "game=kuhn", "players=[uniform,call,mine.yaml]")
    assert run_command(*kuhn, "out=one") == 0
    assert run_command(*kuhn, "out=two", "workers=2") == 0
    assert (tables("one"), numbers("one")) == (tables("two"), numbers("two"))


def test_what_changed_is_refused_by_name(get_refusal):
    Path("mine.yaml").write_text(json.dumps({**load_option("player", "mcts"), "simulations": 5}))
    own = replace_settings(FAST, "players=[call,mine.yaml]", "out=there")
    assert run_command(*own) == 0
    before = tables("there")
    for key, value in {"deals": 60, "game.ante": 2, "rounds": 3}.items():
        message = get_refusal(*replace_settings(own, f"{key}={value}"))
        assert message == f"{key}: the tournament in there has another; give a new folder"
    message = get_refusal(*replace_settings(own, "players=[call,raise]"))
    assert message == "players.mine.yaml: the tournament in there has another; give a new folder"
    assert "seed: is that of the tour" in get_refusal("tournament", "resume=there", "seed=0")
    Path("mine.yaml").write_text(json.dumps({**load_option("player", "mcts"), "simulations": 6}))
    assert get_refusal(*own).startswith("players.mine.yaml.simulations: the")
    assert run_command("tournament", "resume=there", "figure=false") == 0  # with the bot as it was
    assert tables("there") == before

    Path("results").mkdir()
    Path("results/results.csv").write_text("of something else")
    message = get_refusal(*replace_settings(own, "out=results"))
    assert message == "out: results is not the folder of a tournament, it has no tournament.yaml"
    assert [path.name for path in Path("results").iterdir()] == ["results.csv"]
    (table,) = Path("there/tables").iterdir()
    table.write_text('{"players": ["call"]}')
    assert run_command("tournament", "resume=there") == 2
    Path("there/tournament.yaml").write_text("game: {}")
    message = get_refusal("tournament", "resume=there")
    assert "tournament.yaml is not what a tournament writes" in message


def test_one_process_at_a_time_plays_a_tournament(get_refusal):
    assert run_command(*FAST, "out=there") == 0
    before = tables("there")
    with exclusive_lock(Path("there"), "playing it"):
        in_use = "there is in use: another process is playing it"
        assert get_refusal("tournament", "resume=there", "figure=false") == in_use
        assert get_refusal(*FAST, "out=there") == in_use
    assert run_command(*FAST, "out=there") == 0
    assert tables("there") == before


def test_a_run_takes_part(finished_run, get_refusal):
    run = finished_run
    own = replace_settings(FAST, "game=kuhn", f"players=[call,{run},equilibrium]", "out=there")
    assert run_command(*own) == 0
    names = {row["player"] for row in rows_of("there")}
    assert any(name.startswith(f"{run}@") and name.endswith(":average") for name in names)
    (named,) = names - {"call", "equilibrium"}
    message = get_refusal(*replace_settings(own, f"players=[{run},{named}]", "out=twice"))
    assert message == f"players: {named} is named twice; name each player once"
    message = get_refusal(*replace_settings(FAST, f"players=[call,{run}]", "out=other"))
    assert message.startswith("players: ")
    assert "is of kuhn, not of this leduc" in message
    assert not Path("twice").exists()
    assert not Path("other").exists()
