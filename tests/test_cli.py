"""The command line, mostly through `cli.run`: what it starts, prints and refuses."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from poker_rl import cli, job
from poker_rl.config import CONF
from poker_rl.evaluation.evaluation import Evaluation
from poker_rl.listing import about, annotated, groups
from poker_rl.run import Diverged
from poker_rl.stop import Interrupted

TRAIN = ["train", "algo=cfr_plus", "budget=10", "evaluation.deals=30"]  # the fastest run there is


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["poker-rl"])
    monkeypatch.setattr(Evaluation, "figures", lambda *_: {})  # they take most of a short run


def code(*arguments: str) -> int:
    """The exit code of a command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["poker-rl", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Any:
    """Calls a command that is to be refused; what it says."""

    def call(*arguments: str) -> str:
        capsys.readouterr()
        assert code(*arguments) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("poker-rl: ")
        assert "Traceback" not in err
        assert len(err.splitlines()) <= 4
        return err.removeprefix("poker-rl: ").strip()

    return call


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The configs of the runs, none of which takes place."""
    configs: list[dict[str, Any]] = []

    def train(cfg: dict[str, Any], *others: Any) -> dict[str, Any]:
        configs.append(cfg)
        return {"eval/average/exploitability": 0.125, "folder": "outputs/x"}

    monkeypatch.setattr(job, "train", train)
    return configs


def runs(name: str = "*/*") -> list[Path]:
    return [path for path in sorted(Path("outputs").glob(f"{name}/*")) if path.is_dir()]


def last_row(folder: Path) -> dict[str, float]:
    row: dict[str, float] = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    return row


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
        for name, text in options.items():
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
    with_any_net = ["algo=reinforce"] if group == "net" else []
    assert code("train", choice, *with_any_net) == 0
    (cfg,) = asked
    if group != "evaluation":
        assert cfg["names"][group] == name
    assert isinstance(cfg["budget"], int)
    assert cfg["budget"] >= cfg["evaluate_every"]


@pytest.mark.parametrize("name", groups([CONF])["player"])
def test_every_player_can_be_the_opponent(name: str, asked: list[dict[str, Any]]) -> None:
    assert code("train", "algo=ppo", f"opponent={name}") == 0
    assert asked[0]["opponent"] == name


# Runs.


def test_train_evaluate_resume(capsys: pytest.CaptureFixture[str], refused: Any) -> None:
    assert code(*TRAIN, "seed=3", "threads=1") == 0
    (folder,) = runs("kuhn/cfr_plus")
    assert f"run folder: {folder}" in capsys.readouterr().out
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
    assert json.loads((folder / "evaluation.json").read_text())["game"] == "kuhn"

    run = f"resume={folder}"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for override, key in [
        ("seed=4", "seed"),
        ("algo=cfr", "algo"),
        ("algo=nope", "algo=nope"),
        ("game=leduc", "game"),
        ("experiment=k1_ppo", "experiment"),
        ("device=cpu", "device"),
        ("budget=1", "budget"),
        ("budget=x", "budget"),
        ("+algo.foo=1", "algo.foo"),
        ("evaluation.deals=x", "evaluation.deals"),
        ("evaluation.foo=1", "evaluation.foo"),
    ]:
        assert refused("train", run, override).startswith(f"{key}: ")
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert code("train", run, "budget=20", "evaluation.deals=40", "seed=3", "evaluate_every=1") == 0
    assert runs() == [folder]
    cfg = yaml.safe_load((folder / "config.yaml").read_text())
    assert (cfg["budget"], cfg["evaluate_every"], cfg["seed"]) == (20, 1, 3)
    assert cfg["evaluation"]["deals"] == 40
    assert last_row(folder)["iterations"] == 20


def test_a_run_of_a_game_of_ones_own(refused: Any, asked: list[dict[str, Any]]) -> None:
    Path("mine/game").mkdir(parents=True)
    game = Path("mine/game/five.yaml")
    game.write_text("# Five cards\ndefaults: [kuhn, _self_]\nname: five\nranks: TJQKA\n")
    options = ["--config-dir", "mine", "game=five"]
    assert code(*TRAIN, *options) == 0
    assert asked[0]["game"]["ranks"] == "TJQKA"
    game.write_text("name: [\n")
    assert "five.yaml" in refused(*TRAIN, *options)
    game.write_text("name: five\n")
    assert refused(*TRAIN, *options).startswith("game: ")
    assert refused(*TRAIN, "--config-dir", "yours") == "--config-dir: yours is not a folder"


def test_flags_may_stand_anywhere(asked: list[dict[str, Any]]) -> None:
    assert code("train", "algo=cfr", "-m", "seed=1,2", "budget=3") == 0
    assert [(cfg["seed"], cfg["budget"]) for cfg in asked] == [(1, 3), (2, 3)]


# Refusals.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("trian", "trian: no such command; did you mean train? allowed: evaluate, list, train"),
        ("list gam", "gam: no such group; did you mean game?"),
        ("list -x", "unrecognized arguments: -x"),
        ("train -x", "unrecognized arguments: -x"),
        ("train --cfg jbo", "argument -c/--cfg: invalid choice: 'jbo'"),
        ("train game=khun", "game=khun: no such option; did you mean kuhn? allowed: kuhn, kuhn_3p"),
        ("train game=", "game=: no such option; allowed: kuhn"),
        ("train game", "game: can't be read; write key=value"),
        ("train game.ranks=[J", "game.ranks=[J: can't be read; write key=value"),
        ("train game=null", "game=null: "),
        ("train gmae=kuhn", "gmae: no such setting; did you mean game? allowed: algo, budget"),
        ("train experiment=k1", "experiment=k1: no such option; "),
        ("train experiment=k1_ppo algo=cfr", "net: nothing that was chosen takes one"),
        ("train experiment=k1_ppo algo=ppo", "algo."),
        ("train algo=cfr net=mlp_small", "net: nothing that was chosen takes one"),
        ("train algo=cfr +net=mlp_small", "net: CFR takes none"),
        ("train net=k2", "net: "),
        ("train algo=cfr opponent=uniform", "opponent: CFR takes none"),
        ("train ~net", "net: missing, PPO needs one"),
        ("train algo.gama=1", "algo.gama: no such setting; did you mean gamma? allowed: "),
        ("train +algo.foo=1", "algo.foo: no such setting; allowed: "),
        ("train +foo=1", "foo: no such setting; allowed: budget"),
        ("train ~algo.gamma", "algo.gamma: missing; give algo.gamma=…"),
        ("train algo.gamma=3.96", "algo.gamma: 3.96 is not in [0, 1]"),
        ("train algo.gamma=fast", 'algo.gamma: "fast" is not a number'),
        ("train algo.gamma=", 'algo.gamma: "" is not a number'),
        ("train algo.gamma=nan", "algo.gamma: NaN is not a number"),
        ("train algo.gamma=0.9,1", "Ambiguous value for argument 'algo.gamma=0.9,1'"),
        ("train algo.gamma=${nothing}", "algo.gamma: Interpolation key 'nothing' not found"),
        ("train algo.gamma=???", "algo.gamma: missing; give algo.gamma=…"),
        ("train algo._target_=os.system", 'algo._target_: "os.system" is not a class of poker_rl'),
        ("train game._target_=poker_rl.cli.main", "game._target_: "),
        ("train seed=-1", "seed: -1 is not in [0, inf]"),
        ("train seed=1.5", "seed: 1.5 is not an integer"),
        ("train threads=0", "threads: 0 is not in [1, inf]"),
        ("train budget=???", "budget: missing; give budget=…"),
        ("train budget_unit=hand", 'budget_unit: "hand" is no choice; did you mean hands?'),
        ("train device=gpu", 'device: "gpu" is no choice; '),
        ("train opponent=unifrm", "opponent: no player is called unifrm; did you mean uniform?"),
        ("train opponent=outputs/none", "opponent: outputs/none"),
        ("train game=leduc opponent=equilibrium", "opponent: game: "),
        ("train game=leduc evaluation=k1", "evaluation._target_: "),
        ("train evaluation.opponents=[unifrm]", "evaluation: no player is called unifrm"),
        ("train game.hole_cards=2", "game.seats: "),
        ("train game=limit_holdem algo=cfr", "game: limit_holdem has "),
        ("train resume=outputs/none", "resume: outputs/none is no run folder"),
        ("train resume=.", "resume: . is no run folder"),
        ("train -m hydra/launcher=jobli seed=1,2", "hydra/launcher=jobli: no such option; "),
        ("train -m seed=1,2 game", "game: can't be read"),
        ("train -m algo=nope,nap", "algo=nope: refused: algo=nope: no such option; "),
        ("evaluate", "run: missing; give run=…"),
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
    message = 'game._target_: "os.system" is not a class of poker_rl'
    assert refused("evaluate", f"run={folder}") == message
    assert refused("train", f"resume={folder}", "budget=90") == message
    path.write_text(yaml.safe_dump(cfg | {"game": cfg["game"] | {"ranks": "TJQ"}}))
    assert "another kuhn: ranks" in refused("evaluate", f"run={folder}")
    assert "another game" in refused("train", f"resume={folder}", "budget=90")


# How a run ends.


def test_a_bug_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "train", lambda *_: 1 / 0)
    assert code(*TRAIN) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert err.splitlines()[-1] == "poker-rl: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("error", "exit_code"),
    [(Diverged("loss/policy is nan"), 2), (Interrupted(15, "stopped"), 143)],
)
def test_a_run_that_stops(
    error: Exception,
    exit_code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def train(*_: Any) -> None:
        raise error

    monkeypatch.setattr(job, "train", train)
    assert code(*TRAIN) == exit_code
    assert capsys.readouterr().err == f"poker-rl: {error}\n"


def test_ctrl_c_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "train", train)
    assert code(*TRAIN) == 130
    assert code(*TRAIN, "-m", "seed=1,2") == 130


# Sweeps.


def summary() -> list[dict[str, str]]:
    (path,) = Path("outputs/sweeps").glob("*.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_failing_job_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert code(*TRAIN, "-m", "algo=cfr,nope", "seed=1,x,2") == 2
    out, err = capsys.readouterr()
    folders = runs("kuhn/cfr")
    assert len(folders) == len(runs()) == 2
    rows = summary()
    assert [(row["algo"], row["seed"], row["status"]) for row in rows] == [
        ("cfr", "1", "finished"),
        ("cfr", "x", "refused"),
        ("cfr", "2", "finished"),
        ("nope", "1", "refused"),
        ("nope", "x", "refused"),
        ("nope", "2", "refused"),
    ]
    assert [rows[0]["folder"], rows[2]["folder"]] == [str(folder) for folder in folders]
    shown = last_row(folders[0])["eval/average/exploitability"]
    assert float(rows[0]["eval/average/exploitability"]) == shown
    assert f"{shown:.4g}" in out
    told = [line for line in err.splitlines() if line.startswith("poker-rl: ")]
    assert len(told) == 4
    assert 'seed=x: refused: seed: "x" is not an integer' in told[0]
    assert "algo=nope: no such option; " in told[1]
    assert sorted(path.name for path in Path().iterdir()) == ["outputs"]
    command = json.loads((folders[1] / "manifest.json").read_text())["command"]
    assert command == "poker-rl train algo=cfr budget=10 evaluation.deals=30 seed=2"


def test_a_bug_in_one_job(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(cfg: dict[str, Any], *_: Any) -> dict[str, Any]:
        return {"folder": "x", "loss": 1 / cfg["seed"]}

    monkeypatch.setattr(job, "train", train)
    assert code(*TRAIN, "-m", "seed=-1,0,1") == 1
    assert [row["status"] for row in summary()] == ["refused", "failed", "finished"]
    assert capsys.readouterr().err.count("ZeroDivisionError") == 2  # traceback and summary


def test_an_interrupted_sweep(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def train(cfg: dict[str, Any], *_: Any) -> dict[str, Any]:
        if cfg["seed"] == 1:
            raise Interrupted(15, "stopped")
        return {"folder": "x"}

    monkeypatch.setattr(job, "train", train)
    assert code(*TRAIN, "-m", "seed=0,1,2") == 143
    assert [row["status"] for row in summary()] == ["finished", "interrupted", "not run"]


def test_settings_that_only_the_swept_algorithms_have(asked: list[dict[str, Any]]) -> None:
    assert code("train", "-m", "algo=cfr,cfr_plus", "algo.beta=-1") == 0
    assert [cfg["algo"]["beta"] for cfg in asked] == [-1, -1]
    assert not Path("multirun").exists()


def test_jobs_side_by_side() -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher")
    side_by_side = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    assert code(*TRAIN, "-m", "seed=1,x", *side_by_side) == 2
    assert [row["status"] for row in summary()] == ["finished", "refused"]
    assert len(runs("kuhn/cfr_plus")) == 1
