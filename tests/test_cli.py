"""The command line, mostly through `cli.run`: what it starts, prints and refuses."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from commands import TRAIN, anew, code, last_row, runs
from default_signals import default_signals

import poker_rl
from poker_rl import cli
from poker_rl.config.listing import about, annotated, groups
from poker_rl.config.options import CONF, option
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.learning.arithmetic import has_bfloat16
from poker_rl.storage import checkpoint
from poker_rl.training import train as train_module
from poker_rl.training.checkpoints import DivergedError
from poker_rl.training.signals import Interrupted
from poker_rl.training.train import train_in_folder

pytestmark = pytest.mark.usefixtures("here")

FIGURES = Evaluation.figures  # which `here` leaves out


# Help and lists.


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert code(*arguments) == 0
    out = capsys.readouterr().out
    assert all(f"poker-rl {name}" in out for name in cli.COMMANDS)


def test_help_imports_nothing_slow() -> None:
    slow = "{'torch', 'numba', 'hydra', 'numpy', 'matplotlib'} & sys.modules.keys()"
    program = f"import sys; from poker_rl import cli; cli.run(['--help']); sys.exit(len({slow}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("--version") == 0
    assert capsys.readouterr().out.startswith("poker-rl 0.")


def test_list_tells_of_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("list") == 0
    out = capsys.readouterr().out
    for group, options in groups([CONF]).items():
        assert f"{group}=\n" in out
        for name, path in options.items():
            text = about(path)
            assert text, f"conf/{group}/{name}.yaml begins with no comment"
            assert f"  {name}" in out
            assert text in out
    assert code("list", "net") == 0
    assert "kuhn" not in capsys.readouterr().out


def test_all_settings_are_shown_with_their_comments(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("train", "game=kuhn_3p", "algo=ppo", "seed=7", "--cfg", "job") == 0
    out = capsys.readouterr().out
    assert "seed: 7  # of everything drawn by chance\n" in out
    assert "  ranks: TJQK  # lowest first, a character each\n" in out  # said in kuhn.yaml
    assert "  gamma: 1.0  # discount" in out
    assert "hydra" not in out
    assert yaml.safe_load(out)["net"]["hidden"] == [64, 64]
    assert code("train", "--help", "algo=cfr") == 0
    out = capsys.readouterr().out
    assert "--multirun" in out
    assert "limit_holdem" in out
    assert "seed: 0  # of everything" in out
    assert "budget_unit: iterations" in out


@pytest.mark.parametrize("name", groups([CONF])["algo"])
def test_list_tells_the_headline_player(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def train(config: dict[str, Any], algorithm: Any, *_: Any, **__: Any) -> None:
        started.append(algorithm)

    monkeypatch.setattr(train_module, "train_in_folder", train)
    assert code("train", f"algo={name}") == 0
    headline = next(iter(started[0].players()))
    told = about(CONF / "algo" / f"{name}.yaml")
    assert re.search(f"; headline player: (.+, else )?{headline}$", told), told


def test_comments_of_nested_keys(tmp_path: Path) -> None:
    game = tmp_path / "game"
    game.mkdir()
    (tmp_path / "config.yaml").write_text("seed: 1  # a\ngame:\n  ante: 2  # b\n")
    (game / "one.yaml").write_text("# about\nx:  # c\n  y: '#'  # d # e\n  z: [1]\nw: 3 # f\n")
    (game / "two.yaml").write_text("# about two\ndefaults:\n  - one\n  - _self_\nw: 4  # g\n")
    settings = {"seed": 1, "game": {"ante": 2, "x": {"y": "#", "z": [1, 2]}, "w": 4}}
    assert annotated(settings, [tmp_path], {"game": "two", "net": None}).splitlines() == [
        "seed: 1  # a",
        "game:",
        "  ante: 2  # b",
        "  x:  # c",
        "    y: '#'  # d # e",
        "    z: [1, 2]",
        "  w: 4  # g",
    ]
    assert about(game / "two.yaml") == "about two"


# Everything in conf/ composes and builds.


@pytest.mark.parametrize(
    "choice",
    [
        f"{group}={name}"
        for group in ("algo", "experiment", "evaluation", "net", "game")
        for name in groups([CONF]).get(group, {})
    ],
)
def test_every_option_builds(choice: str, asked: list[dict[str, Any]]) -> None:
    group, _, name = choice.partition("=")
    beside = ["algo=reinforce"] if group == "net" else []  # any with networks
    if name.endswith("_from_one") or name == "big2_vine":  # begins with a run, to be named
        beside = ["warm_start=null"]
    assert code("train", choice, *beside) == 0
    (cfg,) = asked
    if group != "evaluation":
        assert cfg["names"][group] == name
    assert isinstance(cfg["budget"], int)
    assert cfg["budget"] >= cfg["evaluate_every"]


@pytest.mark.parametrize("name", groups([CONF])["player"])
def test_every_player_can_be_the_opponent(name: str, asked: list[dict[str, Any]]) -> None:
    only = {  # these play nothing else
        "big2_lookahead": "big2",
        "big2_ppo": "big2",
        "big2_vine": "big2",
        "equilibrium": "kuhn",
        "leduc_ac": "leduc",
        "lhe_6p_ppo": "limit_holdem_6p",
        "lowest": "big2",
        "nlhe_nfsp": "nolimit_holdem",
    }
    game = only.get(name, "limit_holdem")
    assert code("train", "algo=ppo", f"game={game}", f"opponent={name}") == 0
    assert asked[0]["opponent"] == name


# Runs.


def test_train_evaluate_resume(capsys: pytest.CaptureFixture[str], refused: Any) -> None:
    assert code(*TRAIN, "seed=3", "threads=1") == 0
    (folder,) = runs("kuhn/cfr_plus")
    out = capsys.readouterr().out
    assert f"run folder: {folder}" in out
    assert "measuring the players before they learn" in out
    assert folder.name.startswith("seed-3_2")
    assert sorted(path.name for path in Path().iterdir()) == ["outputs"]
    manifest = json.loads((folder / "manifest.json").read_text())
    command = " ".join(["poker-rl", *TRAIN, "seed=3", "threads=1"])
    assert manifest["command"] == command
    assert last_row(folder)["iterations"] == 10
    cfg = yaml.safe_load((folder / "config.yaml").read_text())
    assert (cfg["budget"], cfg["seed"]) == (10, 3)
    assert cfg["evaluation"]["axis"] == "iterations"  # resolved

    assert code("evaluate", f"run={folder}", "against=[uniform,equilibrium]", "deals=1e2") == 0
    out = capsys.readouterr().out
    assert "exploitability" in out
    assert "equilibrium" in out
    (kept,) = folder.glob("evaluations/*.json")
    assert json.loads(kept.read_text())["game"] == "kuhn"
    assert code("evaluate", f"run={folder}", "show=true") == 0
    assert "average (headline)  exploitability" in capsys.readouterr().out

    run = f"resume={folder}"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for override, key in [
        ("seed=4", "seed"),
        ("algo=cfr", "algo"),
        ("algo=nope", "algo=nope"),
        ("game=leduc", "game"),
        ("experiment=k1_ppo", "experiment"),
        ("name=x", "name"),
        ("outputs=x", "outputs"),
        ("budget=1", "budget"),
        ("budget=x", "budget"),
        ("budget_unit=hands", "budget_unit"),
        ("+algo.foo=1", "algo.foo"),
        ("evaluation.deals=x", "evaluation.deals"),
        ("evaluation.foo=1", "evaluation.foo"),
    ]:
        assert refused("train", run, override).startswith(f"{key}: ")
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    settings = list(yaml.safe_load((folder / "config.yaml").read_text()))
    more = ["budget=20", "evaluation.deals=40", "seed=3", "evaluate_every=1"]
    more += ["precision=medium", "device=cpu"]
    assert code("train", run, *more) == 0
    changed = "not as it was: precision highest, now medium. The last bits"
    assert changed in capsys.readouterr().out
    medium = "medium" if has_bfloat16("cpu") else "highest"
    assert torch.get_float32_matmul_precision() == medium
    torch.set_float32_matmul_precision("highest")  # of this process
    assert runs() == [folder]
    cfg = yaml.safe_load((folder / "config.yaml").read_text())
    assert list(cfg) == settings  # in the same order
    assert (cfg["budget"], cfg["evaluate_every"], cfg["seed"]) == (20, 1, 3)
    assert cfg["device"] == "cpu"
    assert cfg["evaluation"]["deals"] == 40
    assert last_row(folder)["iterations"] == 20
    assert refused("train", run, "threads=10000").startswith("threads: 10000 are more than")


@pytest.mark.parametrize(
    "allocate", [lambda: np.empty(10**15), lambda: torch.empty(10**15)], ids=["numpy", "torch"]
)
def test_memory_that_ends_while_training_is_told_in_a_line(
    allocate: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("poker_rl.algos.cfr.CFR.learn", lambda self: allocate())
    assert code(*TRAIN) == 1
    (told,) = [line for line in capsys.readouterr().err.splitlines() if "poker-rl: " in line]
    assert "out of memory while training; less at once" in told
    assert json.loads((runs()[0] / "manifest.json").read_text())["status"] == "failed"


def test_a_folder_of_ones_own_name(refused: Any) -> None:
    assert code(*TRAIN, "name=first", "outputs=there") == 0
    folder = Path("there/kuhn/cfr_plus/first")
    again = f"name: {folder} is there already; give another name, or go on with resume={folder}"
    assert refused(*TRAIN, "name=first", "outputs=there") == again
    assert code("train", f"resume={folder}", "budget=20") == 0
    folder.rename("moved")
    assert code("train", "resume=moved", "budget=30") == 0
    assert last_row(Path("moved"))["iterations"] == 30


def test_a_run_of_a_game_of_ones_own(refused: Any, asked: list[dict[str, Any]]) -> None:
    Path("mine/game").mkdir(parents=True)
    game = Path("mine/game/five.yaml")
    game.write_text("# Five cards\ndefaults: [kuhn, _self_]\nname: five\nranks: TJQKA\n")
    options = ["--config-dir", "mine", "game=five"]
    assert code(*TRAIN, *options) == 0
    assert asked[0]["game"]["ranks"] == "TJQKA"
    game.write_text("name: [\n")
    assert f"{game}: is not YAML: " in refused(*TRAIN, *options)
    game.write_text("name: &five [*five]\n")
    assert refused(*TRAIN, *options).endswith(f"{game}: is not settings: *five refers to itself")
    game.write_text("defaults: [five]\n")
    assert "defaults that lead back to themselves" in refused(*TRAIN, *options)
    game.write_text("name: five\n")
    assert refused(*TRAIN, *options).startswith("game: ")


def test_options_of_ones_own_win(
    asked: list[dict[str, Any]], capsys: pytest.CaptureFixture[str], refused: Any
) -> None:
    mine = Path("mine")
    (mine / "game").mkdir(parents=True)
    (mine / "player").mkdir()
    kuhn = (CONF / "game/kuhn.yaml").read_text().replace("ante: 1", "ante: 5  # all in")
    (mine / "game/kuhn.yaml").write_text(kuhn)
    (mine / "player/my-bot.yaml").write_text("# Mine\n_target_: poker_rl.players.bots.Uniform\n")
    (mine / "player/.#my-bot.yaml").symlink_to("me@host.1:2")  # Emacs has it open
    own = ["--config-dir", "mine"]

    assert code("train", *own, "game=kuhn", "--cfg", "job") == 0
    assert "  ante: 5  # all in" in capsys.readouterr().out
    assert code("list", "game", *own, "player") == 0
    out = capsys.readouterr().out
    assert f"12 information sets (Kuhn 1950)  [{mine / 'game/kuhn.yaml'}]\n" in out
    assert f"Mine  [{mine / 'player/my-bot.yaml'}]\n" in out
    assert out.count("[mine") == 2
    assert f"what has no brackets behind it comes with poker-rl, from {CONF}\n" in out

    match = ["player=my-bot", "against=[my-bot,call]", "deals=30"]
    assert code("evaluate", *own, "game=kuhn", *match) == 0
    assert "my-bot  call" in capsys.readouterr().out
    elsewhere = "--config-dir FOLDER adds those in FOLDER/player"
    assert refused("evaluate", "game=kuhn", *match).endswith(elsewhere)
    # A run is resumed without the folder, and meets the same players.
    opponents = "evaluation.opponents=[call,my-bot]"
    assert code("train", *own, "algo=reinforce", "opponent=my-bot", opponents) == 0
    file = "opponents/my-bot.yaml"  # a copy of its own
    assert asked[0]["opponent"] == file
    assert asked[0]["evaluation"]["opponents"] == ["call", file]
    assert code("train", *own, "-m", "game=glob(kuh*,exclude=*_3p)", "seed=1,2") == 0
    assert [cfg["game"]["ante"] for cfg in asked[1:]] == [5, 5]
    (mine / "game/kuhn.yaml").write_text("[")  # which is not asked for
    assert code("train", *own, "-m", "game=leduc", "seed=1,2") == 0
    (mine / "game/kuhn.yaml").write_text(kuhn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_module, "train_in_folder", train_in_folder)
        assert code(*TRAIN, *own) == 0
    (folder,) = runs()
    command = json.loads((folder / "manifest.json").read_text())["command"]
    assert command == " ".join(["poker-rl", *TRAIN, "--config-dir=mine"])

    assert refused("train", "--config-dir", "yours") == "--config-dir: yours is not a folder"
    twice = (CONF / "game" / "kuhn.yaml").read_text() + "ante: 3\n"
    Path("mine/game/twice.yaml").write_text(twice)
    line = len(twice.splitlines())
    told = f"mine/game/twice.yaml: can't be read: found duplicate key ante, line {line}"
    assert told in refused("train", "game=twice", "--config-dir", "mine")
    assert refused("train", "--config-dir", "") == "--config-dir: an empty name is not a folder"
    assert "mine/game holds no options" in refused("list", "--config-dir", "mine/game")
    Path("mine/games").mkdir()
    Path("mine/games/kuhn.yaml").write_text("a: 1\n")
    wrong = refused("list", "--config-dir", "mine")
    assert "--config-dir: mine/games is no group; did you mean game? allowed: algo, eval" in wrong
    (mine / "config.yaml").write_text("seed: 1\n")
    assert refused("train", *own).startswith("--config-dir: mine/config.yaml is of no group")


def test_slips_in_options_of_ones_own(refused: Any) -> None:
    for group in ("experiment", "algo"):
        Path("mine", group).mkdir(parents=True)
    own = ["--config-dir", "mine"]
    experiment = Path("mine/experiment/named.yaml")
    for value, text in (("ppo", '"ppo"'), ("null", "null")):
        experiment.write_text(f"# @package _global_\nalgo: {value}\nbudget: 300\n")
        said = refused("train", *own, "experiment=named")
        assert said.startswith(f"algo: {text} is not settings with a `_target_`, their class")
        named = "; in a file, `defaults: [override /algo: ppo]` names it"
        assert said.endswith(named) == (value == "ppo")
    Path("mine/algo/short.yaml").write_text("_target_: poker_rl.algos.ppo.PPO\n")
    said = refused("train", *own, "algo=short", "budget=300")
    assert said == "budget_unit: missing; give budget_unit=…"


def test_list_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert code("list", "--help") == 0
    out = capsys.readouterr().out
    assert out.startswith("poker-rl list [GROUP …]")
    assert "kuhn" not in out


def test_names_in_any_alphabet(asked: list[dict[str, Any]], refused: Any) -> None:
    Path("böt.yaml").write_text("_target_: poker_rl.players.bots.Uniform\n")
    assert code("train", "-m", "opponent=böt.yaml,'böt.yaml'", "game.unit=größe") == 0
    assert [(cfg["opponent"], cfg["game"]["unit"]) for cfg in asked] == [
        ("opponents/böt.yaml", "größe")
    ] * 2
    assert refused("train", "resume=läuf").startswith("resume: läuf is no run folder")


def test_flags_may_stand_anywhere(asked: list[dict[str, Any]]) -> None:
    assert code("train", "algo=cfr", "-m", "seed=1,2", "budget=3") == 0
    assert [(cfg["seed"], cfg["budget"]) for cfg in asked] == [(1, 3), (2, 3)]


def test_an_evaluation_given_anew_refers_to_the_run_that_it_measures(
    refused: Callable[..., str],
) -> None:
    """And not to the algorithm that is there where none is given."""
    assert code(*anew(TRAIN, "budget_unit=iterations")) == 0
    (folder,) = runs()
    assert code("train", f"resume={folder}", "evaluation=default", "budget=20") == 0
    kept = yaml.safe_load((folder / "config.yaml").read_text())
    assert kept["evaluation"]["axis"] == kept["budget_unit"] == "iterations"
    for key in ("budget", "evaluation.deals"):
        assert refused("train", f"resume={folder}", f"~{key}") == f"{key}: missing; give {key}=…"


def test_deals_are_those_of_all_matches(capsys: pytest.CaptureFixture[str]) -> None:
    """Also of those with the usual opponents, where the game is too large to be enumerated."""
    given = ["game=kuhn", "player=raise", "evaluation.most_nodes=1"]
    given += ["evaluation.opponents=[uniform]", "against=[call]", "deals=40", "out=here"]
    assert code("evaluate", *given) == 0
    rows = list(csv.DictReader(next(Path("here").glob("*.csv")).open()))
    played = {row["measure"]: row["deals"] for row in rows if row["measure"].startswith("against")}
    assert played == {"against/uniform": "40", "against/call": "40"}
    assert code("evaluate", "show=true", "out=here") == 0
    assert re.search(r"against/uniform .* 40 ", capsys.readouterr().out)


@pytest.mark.parametrize("text", ["[" * 3000 + "]" * 3000, "x: &a [*a]"], ids=["deep", "circle"])
def test_a_run_whose_settings_are_no_settings(refused: Callable[..., str], text: str) -> None:
    assert code(*TRAIN) == 0
    (folder,) = runs()
    (folder / "config.yaml").write_text(text)
    assert refused("evaluate", f"run={folder}").startswith(f"run: {folder}/config.yaml: is not ")


def test_a_run_is_a_folder_alone(refused: Callable[..., str]) -> None:
    assert code(*TRAIN) == 0
    (folder,) = runs()
    for more in ("@10", ":average", "@10:average"):
        told = refused("evaluate", f"run={folder}{more}")
        assert told.startswith(f"run: {folder}{more} is no run folder: ")
        assert told.endswith(f"; run takes a folder alone, such as {folder}")
    assert refused("evaluate", f"run={folder}", "checkpoint=7").startswith("checkpoint: ")
    assert refused("evaluate", f"run={folder}", "player=best").startswith("player: ")


def test_what_is_exact_beside_others_is_shown_so(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["game=kuhn_3p", "player=call", "evaluation.others=fold", "out=here"]
    assert code("evaluate", *given) == 0
    assert code("evaluate", "show=true", "out=here") == 0
    assert re.search(r"exploitability .* exact, beside fold\n", capsys.readouterr().out)


def test_evaluate_any_two_players(capsys: pytest.CaptureFixture[str]) -> None:
    players = ["game=kuhn", "player=call", "against=[raise,equilibrium]", "deals=100"]
    assert code("evaluate", *players) == 0
    out = capsys.readouterr().out
    assert out.startswith("kuhn\n")
    assert "0.3333" in out  # its exploitability
    assert "-0.2222" in out  # won from the equilibrium: (-1/3 - 1/9) / 2
    assert "nothing was written" in out
    assert not list(Path().iterdir())

    assert code(*TRAIN) == 0
    (folder,) = runs()
    spec = f"{folder}@{last_row(folder)['decisions']}:average"
    assert code("evaluate", *players[:-2], f"against=[{spec}]", "out=there") == 0
    (kept,) = Path("there").glob("*.json")
    report = json.loads(kept.read_text())
    assert (report["snapshot"], list(report["players"])) == (None, ["call"])
    assert report["matches"][0]["against"] == spec
    assert kept.with_suffix(".csv").exists()
    assert not (folder / "evaluations").exists()
    assert code("evaluate", "out=there", "show=true") == 0
    assert "against/[1]" in capsys.readouterr().out

    # Without a number of deals it is the game's; a folder stands for its headline player.
    given = ["game=kuhn", "evaluation.deals=60", f"player={folder}", "against=[call]"]
    assert code("evaluate", *given, "out=figures", "figures=true") == 0
    out = capsys.readouterr().out
    assert "60 deals, each" in out
    assert f"{folder}@{last_row(folder)['decisions']}:average" in out
    assert [path.name for path in Path("figures").glob("*/*")] == ["outcomes.png"]


def test_evaluate_exactly_by_the_public_tree(capsys: pytest.CaptureFixture[str]) -> None:
    """Always calling has NashConv 2.9333 in Leduc; the walk is told of before it begins."""
    walked = ["evaluation.most_nodes=1", "exact=true", "evaluation.opponents=[raise]"]
    assert code("evaluate", "game=leduc", "player=call", *walked, "deals=30") == 0
    out, err = capsys.readouterr()
    # Six lines with 3 hands each before the board, 30 after it with 5 hands on each of 3 boards.
    assert "call: exact: 468 hands at public states, suits merged; about 1 s and 10 MB" in out
    assert re.search(r"nash_conv +2\.933 +ante/hand +exact", out)
    assert "against/raise" in out
    assert "exact: " in err


def test_a_game_too_large_for_exact_values_is_refused_before_there_is_a_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With four raises, players who are shown the names of suits make too many."""
    game = ["game=flop_holdem", "game.max_raises=[4,4]"]
    assert code("train", *game, "algo=ppo", "evaluation.exact_every=1000") == 2
    assert code("evaluate", *game, "player=mcts", "exact=true", "out=kept") == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("poker-rl: evaluation.exact_every: the public tree of flop_holdem has")
    assert second.startswith("poker-rl: exact: the public tree of flop_holdem has about")
    assert not Path("outputs").exists()
    assert not Path("kept").exists()


def test_evaluate_tells_the_larger_of_two_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the game can be enumerated the exact value counts, and a loss says nothing."""
    given = ["game=leduc", "player=raise", "lbr=true", "best_responses=[fold]", "deals=60"]
    assert code("evaluate", *given) == 0
    out = capsys.readouterr().out
    assert re.search(r"exploitability of raise: [\d.]+ ante/hand, exact\n", out)
    large = [*given, "evaluation.most_nodes=1", "evaluation.opponents=[]"]
    assert code("evaluate", *large, "out=bounds") == 0
    out = capsys.readouterr().out
    assert re.search(r"exploitability of raise: at least .* ante/hand, lower_bound by lbr\n", out)
    assert re.search(r"raise +fold +120 +-.*lower_bound, vacuous", out)
    assert code("evaluate", "show=true", "out=bounds") == 0
    out = capsys.readouterr().out
    assert re.search(r"raise +bound/lbr .* 60 ", out)
    assert "bound/fold, vacuous" in out
    assert code("evaluate", *anew(large, "deals=100", "out=more")) == 0
    (csv,) = Path("more").glob("*.csv")
    assert re.search(r"bound/lbr,.*,lower_bound,102,", csv.read_text())  # whole boards, of 3 hands
    assert code("evaluate", *anew(large, "lbr=false")) == 0
    out = capsys.readouterr().out
    assert re.search(
        r"exploitability of raise: not known: what fold wins, -.*\(lower_bound, v", out
    )


def test_beside_others_a_player_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """`call` has the second seat in what is measured; what `raise` would do there is its own."""
    given = ["game=kuhn", "player=raise", "evaluation.others=call", "lbr=true", "deals=600"]
    assert code("evaluate", *given) == 0
    out = capsys.readouterr().out
    assert re.search(r"after a check +1.000 / \S+ +1.000 / \S+ +1.000 / ", out)
    assert re.search(r"exploitability of raise: at least .* ante/hand, lower_bound by lbr\n", out)


def test_figures_of_any_player_have_files(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code(*TRAIN, "name=p1", "figures=false") == 0
    (folder,) = runs()
    monkeypatch.setattr(Evaluation, "figures", FIGURES)
    assert code("evaluate", "game=kuhn", f"player={folder}", "figures=true", "out=drawn") == 0
    (file,) = Path("drawn").rglob("*.png")
    at = last_row(folder)["decisions"]
    assert file.name == f"policy_outputs_kuhn_cfr_plus_p1_{at}_average.png"
    met = ["game=kuhn", "player=call", "evaluation.most_nodes=1", "deals=30"]
    capsys.readouterr()
    assert code("evaluate", *met, f"evaluation.opponents=[{folder}]") == 2
    told = capsys.readouterr().err
    assert told.startswith(f"poker-rl: evaluation.opponents: {folder} ends as the name of a perce")
    assert code("evaluate", *met, f"evaluation.opponents=[{folder}:average,raise]") == 0


def test_a_run_of_several_copies_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    small = ["algo=vpg", "algo.hands=8", "algo.instances=2", "budget=60", "figures=false"]
    many = ["evaluation.most_nodes=1", "evaluation.opponents=[call]", "evaluation.deals=30"]
    assert code("train", *small, *many) == 0
    (folder,) = runs()
    assert code("evaluate", f"run={folder}", "figures=true") == 0
    assert code("evaluate", f"run={folder}", "figures=true", "earlier=1") == 2
    assert "matches and bounds are of one copy" in capsys.readouterr().err


def test_train_measures_exactly_at_a_pace_of_its_own() -> None:
    pace = ["evaluate_every=2", "evaluation.most_nodes=1", "evaluation.exact_every=5"]
    assert code(*TRAIN, *pace, "algo.iterations_per_step=1") == 0
    (folder,) = runs()
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["iterations"] for row in rows] == [0, 2, 4, 5, 6, 8, 10]
    exact = [row["iterations"] for row in rows if "eval/average/exploitability" in row]
    assert exact == [5, 10]
    assert rows[-1]["eval/average/exploitability"] == pytest.approx(0.0327, abs=0.001)


def test_evaluate_a_mixed_table(capsys: pytest.CaptureFixture[str]) -> None:
    # Whoever folds to every bet loses the ante, wherever the one who always bets has a seat.
    assert code("evaluate", "game=kuhn_3p", "seats=[raise,fold,fold]", "deals=50") == 0
    out = capsys.readouterr().out
    assert "50 deals, each played in every rotation of the players over the seats; ante/hand" in out
    told = [line.split() for line in out.splitlines()]
    assert ["raise", "1", "2", "2"] in told
    assert ["fold", "2", "-1", "-1"] in told
    assert not list(Path().iterdir())

    assert code(*TRAIN, "game=kuhn") == 0
    (folder,) = runs()
    capsys.readouterr()
    assert code("evaluate", f"run={folder}", "seats=[self,raise]", "deals=60", "seed=2") == 0
    (kept,) = (folder / "evaluations").glob("*.json")
    own, other = json.loads(kept.read_text())["table"]
    assert own["player"] == f"{folder}@{last_row(folder)['decisions']}:average"
    assert own["won"]["value"] == pytest.approx(-other["won"]["value"])
    assert own["exact"] == pytest.approx(1 / 9, abs=0.05)  # what an equilibrium wins from it
    assert kept.with_suffix(".csv").read_text().splitlines()[-1].startswith("raise,table,")
    capsys.readouterr()
    assert code("evaluate", f"run={folder}", "show=true") == 0
    assert " ".join(capsys.readouterr().out.splitlines()[3].split()[:3]) == "1 - raise"


def test_a_bot_with_settings_of_ones_own(
    capsys: pytest.CaptureFixture[str], refused: Callable[..., str]
) -> None:
    own = {**option("player", "mcts"), "simulations": 5}
    Path("mine.yaml").write_text(json.dumps(own))  # which is YAML
    match = ["evaluate", "game=kuhn", "player=mine.yaml", "against=[call,mine.yaml]", "deals=30"]
    assert code(*match) == 0
    assert "mine.yaml  call" in capsys.readouterr().out
    Path("mine.yaml").write_text(json.dumps({**own, "simulations": "few"}))
    assert refused(*match) == 'player: mine.yaml.simulations: "few" is not an integer'
    Path("mine.yaml").write_text("5")
    assert refused(*match) == "player: mine.yaml: is not a file of settings, key: value"
    Path("mine.yaml").write_text("_target_: poker_rl.nets.dense.MLP")  # told before its fields are
    assert refused(*match) == "player: mine.yaml._target_: MLP is not a Player"
    assert refused(*TRAIN, "opponent=no.yaml") == "opponent: no.yaml: no such file"


def test_a_game_that_is_changed_for_once(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["game=kuhn_3p", "game.ranks=TJQKA", "evaluation.most_nodes=1", "evaluation.deals=30"]
    assert code("evaluate", *options, "player=fold") == 0
    assert "against/raise" in capsys.readouterr().out  # instead of exact values


def test_a_run_takes_its_opponents_along(
    monkeypatch: pytest.MonkeyPatch, refused: Callable[..., str]
) -> None:
    assert code(*TRAIN) == 0
    (other,) = runs()
    newest = last_row(other)["decisions"]
    Path("mine.yaml").write_text(json.dumps(option("player", "uniform")))
    met = [
        f"opponent={other}",  # its headline player, at its newest snapshot
        "evaluation.others=${opponent}",
        f"evaluation.opponents=['call:greedy','mine.yaml:greedy','{other}@0:current:greedy']",
    ]
    few = ["algo=reinforce", "budget=100", "evaluation.most_nodes=1", "evaluation.deals=30"]
    assert code("train", *few, *met) == 0
    (run,) = runs("kuhn/reinforce")
    copy = f"opponents/cfr_plus_{other.name}@{newest}.pt"
    cfg = yaml.safe_load((run / "config.yaml").read_text())
    assert cfg["opponent"] == cfg["evaluation"]["others"] == f"{copy}:average"
    first = f"opponents/cfr_plus_{other.name}@0.pt:current:greedy"
    assert cfg["evaluation"]["opponents"] == ["call:greedy", "opponents/mine.yaml:greedy", first]
    assert (run / copy).read_bytes() == (other / f"players/{newest}.pt").read_bytes()

    # It goes on when they are gone, elsewhere, and from another working folder.
    other.rename("away")
    Path("mine.yaml").unlink()
    moved = run.rename(Path("moved").resolve())
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert code("train", f"resume={moved}", "budget=200") == 0
    assert f"eval/current/against/{first}" in last_row(moved)
    assert code("evaluate", f"run={moved}", "player=current:greedy", "deals=30") == 0
    twice = refused("evaluate", f"run={moved}", "player=current:greedy:greedy")
    assert twice.startswith("player: current:greedy:greedy is not a name, as in current, ")

    # What is given anew comes along too; another file of the same name does not replace the old.
    Path("mine.yaml").write_text(json.dumps(option("player", "raise")))
    anew = "evaluation.opponents=[mine.yaml,../away:current]"
    before = (moved / "config.yaml").read_text()
    assert refused("train", f"resume={moved}", "budget=300", "evaluation.opponents=[../nowhere]")
    assert (moved / "config.yaml").read_text() == before
    assert code("train", f"resume={moved}", "budget=300", anew) == 0
    cfg = yaml.safe_load((moved / "config.yaml").read_text())
    there = cfg["evaluation"]["opponents"]
    assert there[0] == "opponents/mine_2.yaml"
    assert there[1] == f"opponents/{Path.cwd().parent.name}_away@{newest}.pt:current"
    assert all((moved / spec.partition(":")[0]).is_file() for spec in there)


def test_a_run_from_before_copies_were_kept_goes_on(refused: Callable[..., str]) -> None:
    assert code(*TRAIN) == 0
    (other,) = runs()
    assert code("train", "algo=reinforce", "budget=100", f"opponent={other}") == 0
    (run,) = runs("kuhn/reinforce")
    path, old = run / "config.yaml", f"{other}@{last_row(other)['decisions']}"
    cfg = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(cfg | {"opponent": old}))
    state = checkpoint.load(run / checkpoint.STATE)
    del state["settings"]  # which were not kept either
    checkpoint.save(run / checkpoint.STATE, state)
    assert code("train", f"resume={run}", "budget=200") == 0
    assert yaml.safe_load(path.read_text())["opponent"] == old
    other.rename("away")
    assert refused("train", f"resume={run}", "budget=300").startswith(f"opponent: {other}")


# Output that nobody reads any more.


@pytest.mark.parametrize("arguments", [["list"], ["train", "--help"], TRAIN])
def test_a_closed_pipe(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-c", "from poker_rl.cli import main; main()", *arguments]
    here = {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1])}
    with open(writer, "wb") as pipe:
        done = subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, env=os.environ | here, check=False
        )
    assert (done.returncode, done.stderr) == (141, b"")
    for folder in runs():
        assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"


# Refusals.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("trian", "trian: no such command; did you mean train?"),
        ("list gam", "gam: no such group; did you mean game?"),
        ("list -x", "unrecognized arguments: -x"),
        ("train -x", "unrecognized arguments: -x"),
        ("train --seed 3", "unrecognized arguments: --seed; a setting has no dashes: seed=…"),
        (
            "train .",
            ".: can't be read; write key=value or 'key=\"any text\"';"
            " a run folder is given as run=., or resume=. to train on",
        ),
        ("train --cfg jbo", "argument -c/--cfg: invalid choice: 'jbo'"),
        (
            "train game=khun",
            "game=khun: no such option; did you mean kuhn? allowed: big2, flop_holdem, kuhn",
        ),
        ("train game=/etc/passwd", "game=/etc/passwd: no such option; allowed: big2"),
        ("train experiment=../config", "experiment=../config: no such option; allowed: ac_fhp"),
        ("train game=", "game=: no such option; allowed: big2, flop_holdem"),
        ("train game", "game: can't be read; write key=value"),
        ("train game.ranks=[J", "game.ranks=[J: can't be read; write key=value"),
        ("train game=kuhn game=leduc", "game: given twice; give it once"),
        ("train -m seed=1,2 seed=3", "seed: given twice"),
        ("train algo.lr.end=1 ++algo.lr.end=0", "algo.lr.end: given twice"),
        ("evaluate game=kuhn player=call player=raise", "player: given twice"),
        ("tournament game=kuhn game=leduc players=[call,raise]", "game: given twice"),
        ("play seed=1 seed=2", "seed: given twice"),
        ("list game --config-dir a --config-dir b", "--config-dir: given twice; give it once"),
        ("play game=null", "game: missing; give game="),
        ("tournament game=null players=[call,raise]", "game: missing; give game="),
        ("compare . at=1 at=2", "at: given twice"),
        ("tune trials=1 trials=2", "trials: given twice"),
        ("train game=null", "game: missing; give game=…"),
        ("train net=null", "net: missing, PPO needs one"),
        ("train +names=5", "names: no such setting; "),
        ("train outputs=o\udcff", "outputs: is not text in UTF-8"),
        ("train budget=inf", "budget: "),
        (f"train budget=1{'0' * 400}", "budget: 1000"),
        (f"train algo.gamma=1{'0' * 400}", "algo.gamma: 1000"),
        ("train algo=cfr net=null", "net: algo=cfr has no networks"),
        ("train gmae=kuhn", "gmae: no such setting; did you mean game? allowed: algo, budget"),
        ("train lr=3e-4", "lr: no such setting; did you mean algo.lr? allowed: algo, budget"),
        (
            "train algo.learning_rate=1",
            "algo.learning_rate: no such setting; did you mean algo.lr? ",
        ),
        (
            "train algo=vpg learning_rate=1",
            "learning_rate: no such setting; did you mean algo.actor_lr or algo.critic_lr? allowed",
        ),
        ("train algo.tables=4x", 'algo.tables: "4x" is not an integer'),
        ("evaluate run=x out=", "out: is empty; for none give out=null"),
        ("train experiment=k1", "experiment=k1: no such option; "),
        ("train logger=[nope]", "logger=nope: no such option; allowed: tensorboard"),
        ("train experiment=k1_ppo algo=cfr", "net: algo=cfr has no networks"),
        (
            "train experiment=ppo_leduc algo=vpg",
            "algo.clip._target_: null is not a class of poker_rl; experiment=ppo_leduc brings"
            " settings of its own algo, which algo=vpg may not have",
        ),
        ("train experiment=k1_ppo algo=ppo", "algo."),
        ("train algo=cfr net=mlp_small", "net: algo=cfr has no networks"),
        ("train experiment=cfr_fhp net=lstm", "net: experiment=cfr_fhp has no networks"),
        (
            "train experiment=apu_linear_from_one",
            "warm_start: <a run of dual_apu_ctrl_linear> is no run folder",
        ),
        ("train experiment=big2_vine", "warm_start: <a run of big2_ppo_long> is no run folder"),
        ("train algo=vine opponent=call", "opponent: vine plays itself, and takes none"),
        ("train player=call", "player: nothing that was chosen takes one"),
        ("train algo=cfr +net=mlp_small", "net: CFR takes none"),
        ("train net=k2", "net: "),
        ("train algo=cfr opponent=uniform", "opponent: CFR takes none"),
        ("train ~net", "net: missing, PPO needs one"),
        ("train algo.gama=1", "algo.gama: no such setting; did you mean gamma? allowed: "),
        ("train +algo.foo=1", "algo.foo: no such setting; allowed: "),
        ("train +foo=1", "foo: no such setting; allowed: budget"),
        ("train ~algo.gamma", "algo.gamma: missing; give algo.gamma=…"),
        (
            "train budget_unit=hands",
            "algo.lr.horizon: can't follow the budget, which is in hands, as this schedule counts"
            " decisions; give a number of those",
        ),
        (
            "train experiment=nfsp_leduc_tuned algo.average.lr.horizon=0.5",
            "algo.average.lr.horizon: can't follow the budget, which is in decisions, as this"
            " schedule counts gradient steps of its own; ",
        ),
        (
            "train algo.lr.horizon=0",
            "algo.lr.horizon: 0 is neither a number of steps (1 or more), ",
        ),
        ("train algo.lr.horizon=long", 'algo.lr.horizon: "long" is not a number'),
        ("train algo.lr=-1", "algo.lr: -1.0 is not in [0, inf)"),
        ("train algo.clip=inf", "algo.clip: Infinity is not in [0, inf)"),
        ("train opponent=", 'opponent: "" names no player'),
        ("train =3", "=3: can't be read; write key=value"),
        (
            "train algo.lr=fast",
            'algo.lr: "fast" is neither a number nor a schedule, {start, end, horizon}',
        ),
        (
            "train algo.entropy=[1]",
            "algo.entropy: is no list; give algo.entropy.NAME=VALUE, ",
        ),
        ("train algo=mmd algo.last.start=-1", "algo.last.start: -1.0 is not in (0, inf)"),
        ("train algo.lr=true", "algo.lr: true is neither a number nor a schedule"),
        ("train algo=cfr warm_start=.", "warm_start: cfr has no networks that could be taken over"),
        ("train warm_start=outputs/none", "warm_start: outputs/none is no run folder: "),
        ("train algo.lr.start=0 algo.lr.end=-1", "algo.lr.end: -1.0 is not in"),
        ("train algo.gamma=3.96", "algo.gamma: 3.96 is not in [0, 1]"),
        ("train algo.gamma=fast", 'algo.gamma: "fast" is not a number'),
        ("train algo.gamma=", 'algo.gamma: "" is not a number'),
        ("train algo.gamma=nan", "algo.gamma: NaN is not a number"),
        ("train algo.gamma=0.9,1", "algo.gamma=0.9,1: several values need -m, "),
        ("train game=[kuhn,leduc]", "game: give the name of one option"),
        ("train algo=../algo/ppo", "algo=../algo/ppo: no such option; allowed: "),
        ("train algo.gamma=${nothing}", "algo.gamma: Interpolation key 'nothing' not found"),
        ("train algo.gamma=${hydra:job.num}", "algo.gamma: ValueError raised while resolving"),
        ('train algo.gamma="${"', 'Error merging override algo.gamma="${" no viable alternative'),
        (f"train seed={'[' * 500}{']' * 500}", f"seed={'[' * 55}…: "),
        (f"evaluate run=x against={'[' * 500}{']' * 500}", f"against={'[' * 52}…: can't be read"),
        ("train algo.gamma=???", "algo.gamma: missing; give algo.gamma=…"),
        ("train algo=nfsp algo.eta=1.5", "algo.eta: 1.5 is not in [0, 1]"),
        ("train algo=nfsp algo.replay=1e13", "algo.replay: 10,000,000,000,000 items of 10 bytes"),
        ("train algo=nfsp algo.average.capacity=1e13", "algo.average.capacity: 10,000,000,000,000"),
        ("train algo=nfsp algo.average.rule.chance=2", "algo.average.rule.chance: no such setting"),
        ("train algo=nfsp algo.members=node", 'algo.members: "node" is no choice; allowed: agent'),
        ("train algo=nfsp opponent=call", "algo.members: seat needs self-play"),
        ("train model_id=x", 'model_id: "x" is not an integer'),
        ("train algo._target_=os.system", 'algo._target_: "os.system" is not a class of poker_rl'),
        ("train game._target_=poker_rl.cli.main", "game._target_: "),
        ("train seed=-1", "seed: -1 is not in [0, 1e+18]"),
        ("train seed=1.5", "seed: 1.5 is not an integer"),
        ("train name=../x", 'name: "../x" is no name of a folder; allowed: up to 60 letters'),
        ("train outputs=", "outputs: give a folder, such as outputs=outputs"),
        ("train -m seed=1,2 name=x", "name: several jobs would be outputs/kuhn/ppo/x; tell them"),
        ("train precision=low", 'precision: "low"'),
        ("train threads=0", "threads: 0 is not in [1, inf)"),
        ("train threads=1e9", "threads: 1000000000 are more than the cores that may be used, "),
        ("evaluate game=kuhn player=call threads=1e9", "threads: 1000000000 are more than"),
        ("train algo.tables=1e9", "algo.tables: 1,000,000,000 tables and 16,000,000,000 actions"),
        (
            "train algo.steps=1e9",
            "algo.tables: 512 tables and 512,000,000,000 actions an iteration",
        ),
        (
            "train algo.instances=1e9",
            "algo.instances: 512,000,000,000 tables and 8,192,000,000,000 ",
        ),
        ("train algo.epochs=1e18", "algo.epochs: 1000000000000000000 is not in [1, 1000]"),
        ("train algo.minibatches=8193", "algo.minibatches: 8,193 parts of the 8,192 decisions"),
        ("train algo=dqn algo.tables=1e10", "algo.tables: 10,000,000,000 tables need about"),
        ("train algo=dqn algo.batch=1e10", "algo.batch: 10,000,000,000 items for each of 1 of"),
        ("train algo=dqn algo.updates=1e9", "algo.updates: 1000000000 is not in [1, 1000]"),
        ("train algo=nfsp algo.average.batch=1e10", "algo.average.batch: 10,000,000,000 items"),
        ("train algo=nfsp algo.average.updates=1e9", "algo.average.updates: 1000000000 is not in"),
        ("train algo=vpg algo.hands=1e10", "algo.hands: 10,000,000,000 tables need about"),
        ("train algo=vpg algo.steps=1e9", "algo.steps: 1000000000 is not in [1, 1000]"),
        ("train algo=reinforce algo.hands=1e10", "algo.hands: 10,000,000,000 tables need about"),
        ("train algo=actor_critic algo.hands=1e10", "algo.hands: 10,000,000,000 tables need about"),
        (
            "train algo=actor_critic algo.minibatches=961",
            "algo.minibatches: 961 parts of 960 hands",
        ),
        ("train algo=apu game=limit_holdem_6p algo.batch=1e10", "algo.batch: 10,000,000,000 items"),
        (
            "train algo=mccfr algo.iterations_per_step=1e9",
            "algo.iterations_per_step: 1000000000 is",
        ),
        (
            "train seed=1e30",
            "seed: 1000000000000000019884624838656 is too large; allowed: up to 1e+18",
        ),
        ("train ~game", "game: missing; give game=…"),
        ("train ~algo", "algo: missing; give algo=…"),
        ("train ~evaluation", "evaluation: missing; give evaluation=…"),
        ("train budget=???", "budget: missing; give budget=…"),
        ("train budget_unit=hand", 'budget_unit: "hand" is no choice; did you mean hands?'),
        ("train device=gpu", 'device: "gpu" is no choice; '),
        ("train opponent=unifrm", "opponent: no player is called unifrm; did you mean uniform?"),
        ("train opponent=outputs/none", "opponent: outputs/none"),
        ("train game=leduc opponent=equilibrium", "opponent: equilibrium: known only of Kuhn"),
        ("train game=leduc evaluation=k1", "evaluation._target_: "),
        ("train evaluation.opponents=[unifrm]", "evaluation.opponents: no player is called unifrm"),
        ("train evaluation.others=unifrm", "evaluation.others: no player is called unifrm"),
        ("train game.hole_cards=2", "game.seats: "),
        ("train game._target_=poker_rl.nets.dense.MLP", "game._target_: MLP is not a Game"),
        ("train net.hidden=[1e9]", "net: too large for the memory of this machine"),
        (
            "train evaluation.most_nodes=1e18",
            "evaluation.most_nodes: 1000000000000000000 is not in",
        ),
        (
            "train hydra.run.dir=x",
            "hydra.run.dir: has no effect here; of Hydra's own settings only",
        ),
        ("train hydra.job.chdir=true", "hydra.job.chdir: has no effect here; "),
        ("train -m hydra.job.chdir=true seed=1,2", "hydra.job.chdir: has no effect here; "),
        ("train hydra/launcher=basic", "hydra/launcher: is of a sweep; give -m"),
        ("train hydra.launcher.n_jobs=2", "hydra.launcher.n_jobs: is of a sweep; give -m"),
        ("train game=limit_holdem algo=cfr", "game: limit_holdem has "),
        ("train resume=outputs/none", "resume: outputs/none is no run folder"),
        ("train resume=.", "resume: . is no run folder"),
        ("train -m hydra/launcher=jobli seed=1,2", "hydra/launcher=jobli: no such option; "),
        ("train -m seed=1,2 game", "game: can't be read"),
        ("train -m algo=glob(zz*)", "algo=glob(zz*): stands for no value at all; allowed: actor_"),
        ("train -m seed=range(3,0)", "seed=range(3,0): stands for no value at all"),
        ("train -m seed=range(0,100000000)", "seed=range(0,100000000): a sweep has at most 5,000"),
        ("train -m seed=range(0,1e300)", "seed=range(0,1e300): a sweep has at most 5,000 jobs"),
        ("train -m seed=range(0,10,0)", "seed=range(0,10,0): by steps of 0 a range never comes to"),
        ("train -m seed=interval(0,1)", "seed=interval(0,1): has no end of values"),
        ("train -m seed=range(0,3000) algo=cfr,ppo", "-m: 3000 x 2 = 6,000 jobs; at most 5,000"),
        ("train -m algo=nope,nap", "algo=nope: no such option; "),
        ("evaluate", "run: missing; give run=FOLDER, or game=NAME and player=NAME or seats=[…]"),
        ("evaluate player=call", "run: missing; give run=FOLDER, or game=NAME and player=NAME"),
        ("evaluate game=kuhn", "player: missing; give player=NAME or player=FOLDER"),
        ("evaluate game=khun player=call", "game=khun: no such option; did you mean kuhn?"),
        ("evaluate game=kuhn run=. player=call", "game, evaluation: a run has its own; "),
        ("evaluate game=kuhn player=cal", "player: no player is called cal; did you mean call?"),
        ("evaluate game=kuhn player=call against=[cal]", "against: no player is called cal; "),
        (
            "evaluate game=kuhn player=call against=[uniform,uniform]",
            "against: uniform is named twice; name each player once",
        ),
        (
            "evaluate game=kuhn player=call best_responses=[raise,raise]",
            "best_responses: raise is named twice; name each player once",
        ),
        ("evaluate game=kuhn player=call against=call", 'against: "call" is not a list'),
        ("evaluate game=leduc player=equilibrium", "player: equilibrium: known only of Kuhn"),
        ("evaluate game=kuhn player=call checkpoint=3", "checkpoint: is of a run; "),
        ("evaluate game=kuhn player=call figures=true", "figures: without a run give out=FOLDER"),
        ("evaluate game=kuhn player=call deals=1e12", "deals: 1000000000000 is not in [30, 1e+07]"),
        ("evaluate game=kuhn_3p seats=[call,raise]", "seats: 2 given, but kuhn_3p has 3 seats"),
        (
            "evaluate game=limit_holdem player=call exact=true",
            "exact: the public tree of limit_holdem has about 1.3e+13 public states times hands",
        ),
        (
            "evaluate game=limit_holdem_3p player=call exact=true",
            "exact: limit_holdem_3p is not poker for two players",
        ),
        (
            "train game=limit_holdem algo=ppo evaluation.exact_every=1e6",
            "evaluation.exact_every: the public tree of limit_holdem has about 1.3e+13",
        ),
        ("evaluate game=kuhn seats=[call,call] exact=true", "exact: goes without seats"),
        ("evaluate game=kuhn seats=[call,call] lbr=true", "lbr: goes without seats"),
        (
            "evaluate game=limit_holdem_3p player=call lbr=true",
            "lbr: limit_holdem_3p is not poker for two players",
        ),
        (
            "evaluate game=kuhn_3p player=call best_responses=[raise]",
            "best_responses: kuhn_3p is not for two players",
        ),
        (
            "evaluate game=kuhn player=call best_responses=[cal]",
            "best_responses: no player is called cal; did you mean call?",
        ),
        (
            "evaluate game=limit_holdem_2to9 seats=[call,call]",
            "seats: limit_holdem_2to9 draws 2 to 9",
        ),
        ("evaluate game=kuhn seats=[call,call] player=call", "player: goes without seats"),
        ("evaluate game=kuhn seats=[call,call] against=[call]", "against: goes without seats"),
        ("evaluate game=kuhn seats=[call,cal]", "seats: no player is called cal; did you mean"),
        ("evaluate game=leduc seats=[call,equilibrium]", "seats: equilibrium: known only of Kuhn"),
        ("tournament game=kuhn", "players: a tournament takes at least two, 0 given"),
        ("tournament players=[call,raise]", "game: missing; give game=NAME players=[…], or resume"),
        ("tournament game=kuhn players=[call,call]", "players: call is named twice; name each"),
        ("tournament game=kuhn players=[call,cal]", "players: no player is called cal; did you"),
        ("tournament game=leduc players=[call,equilibrium]", "players: equilibrium: known only of"),
        ("tournament game=kuhn players=[call,raise] deals=3", "deals: 3 is not in [30, 1e+06]"),
        ("tournament game=kuhn players=[call,raise] workers=0", "workers: 0 is not in [1, inf)"),
        ("tournament game=kuhn players=[call,raise] out=/dev/null/x", "out: /dev/null is not a fo"),
        (
            "tournament game=kuhn_3p players=[call,raise] tables=mixed",
            "tables: mixed tables of kuhn",
        ),
        ("tournament resume=none", "resume: none holds no tournament, there is no tournament.yaml"),
        ("evaluate show=true", "show: of which folder? give run=FOLDER or out=FOLDER"),
        ("evaluate show=true out=none", "show: there are no evaluations in none"),
        ("train evaluation.deals=1e8", "evaluation.deals: 100000000 is not in [30, 1e+07]"),
        ("evaluate game=kuhn player=call reduce=less", 'reduce: "less" is no choice'),
        (
            "evaluate game=big2 player=uniform reduce=aivat",
            "evaluation.reduce: aivat knows how",
        ),
        ("evaluate game=kuhn player=call control=nobody", "evaluation.control: no player"),
        ("evaluate game=kuhn player=call out=/dev/null/x", "out: /dev/null is not a folder"),
        ("evaluate game=kuhn player=call evaluation.deal=3", "evaluation.deal: no such setting"),
        ("evaluate --config-dir no game=kuhn", "--config-dir: no is not a folder"),
        ("evaluate run", "run: can't be read; write key=value"),
        ("evaluate run=outputs/none", "run: outputs/none is no run folder"),
        ("evaluate run=. deal=3", "deal: no such setting; did you mean deals? allowed: against"),
        ("evaluate run=. deals=3", "deals: 3 is not in "),
        ("evaluate run=. --x", "unrecognized arguments: --x"),
    ],
)
def test_bad_input(arguments: str, message: str, refused: Any) -> None:
    assert refused(*arguments.split(" ")).startswith(message)
    assert not list(Path().iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_cuda(refused: Any) -> None:
    assert refused(*TRAIN, "device=cuda").startswith("device: no cuda here, torch ")


@pytest.mark.parametrize(
    "text",
    ["", "[", "- a", "game: {}", "{game: {}, algo: {}, evaluation: {}, names: {}}"],
)
def test_folders_that_are_no_runs(text: str, refused: Any) -> None:
    folder = Path("outputs/x")
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(text)
    (folder / "manifest.json").write_text("{}")
    refused("train", "resume=outputs/x")
    refused("evaluate", "run=outputs/x")
    assert len(list(folder.iterdir())) == 2


def test_a_config_that_was_tampered_with(refused: Any) -> None:
    assert code(*TRAIN) == 0
    (folder,) = runs()
    path = folder / "config.yaml"
    cfg = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(cfg | {"game": {"_target_": "os.system", "command": "true"}}))
    message = 'game._target_: "os.system" is not a class of poker_rl; is its plug-in installed?'
    assert refused("evaluate", f"run={folder}") == message
    assert refused("train", f"resume={folder}", "budget=90") == message
    path.write_text(yaml.safe_dump(cfg | {"game": cfg["game"] | {"ranks": "TJQ"}}))
    assert "another kuhn: ranks" in refused("evaluate", f"run={folder}")
    assert "another game" in refused("train", f"resume={folder}", "budget=90")


# How a run ends.


def test_a_bug_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(train_module, "train_in_folder", lambda *_, **__: 1 / 0)
    assert code(*TRAIN) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.splitlines()[-1] == "poker-rl: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(DivergedError("loss/policy is nan"), 2), (Interrupted(15, "stopped"), 143)],
)
def test_a_run_that_stops(
    error: Exception,
    exit_code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def train(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(train_module, "train_in_folder", train)
    assert code(*TRAIN) == exit_code
    assert capsys.readouterr().err == f"poker-rl: {error}\n"


def test_ctrl_c_is_heard_in_the_midst_of_compiled_code() -> None:
    program = (
        "from poker_rl import cli\n"
        "from poker_rl.reports import evaluate\n"
        "def long(*_, **__):\n"
        "    print('measuring', flush=True)\n"
        "    sum(range(10**12))\n"  # Python looks for signals only when this is done, in hours
        "evaluate.evaluate_players = long\n"
        "cli.main()\n"
    )
    command = [sys.executable, "-c", program, "evaluate", "game=kuhn", "player=call"]
    here = {"PYTHONPATH": str(Path(poker_rl.__file__).parents[1])}
    with default_signals():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | here)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"measuring\n"
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait() == -signal.SIGINT
        finally:
            process.kill()


def test_ctrl_c_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(train_module, "train_in_folder", train)
    assert code(*TRAIN) == 130
    assert code(*TRAIN, "-m", "seed=1,2") == 130
