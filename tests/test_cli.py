"""The command line: help, options, runs, evaluations, and mistakes of the user."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
import yaml
from commands import ENVIRONMENT, PROGRAM, TRAIN, list_runs, read_last_row, run_command
from matplotlib.figure import Figure

from poker_rl import cli
from poker_rl.config import ConfigError
from poker_rl.config.compose import compose_config, initialize_hydra
from poker_rl.config.option_files import (
    SHIPPED_OPTION_DIR,
    list_options_by_group,
    load_option,
    read_first_comment,
)
from poker_rl.evaluation.player_evaluator import PlayerEvaluator
from poker_rl.nets.precision import has_bfloat16
from poker_rl.training import start_run
from poker_rl.training.run_outcome import DivergedError, RunInterruptedError
from poker_rl.training.start_run import train_in_folder

pytestmark = pytest.mark.usefixtures("working_folder")


def test_help_shows_few_settings_and_help_all_shows_all(capsys):
    for arguments in ([], ["-h"]):
        assert run_command(*arguments) == 0
        out = capsys.readouterr().out
        assert all(f"poker-rl {name}" in out for name in cli.COMMANDS)
    for name in cli.COMMANDS:
        assert run_command(name, "--help") == 0
        short = capsys.readouterr().out
        assert short.startswith(f"poker-rl {name} ")
        assert len(re.findall(r"^  \w+=  ", short, re.MULTILINE)) <= 5
        assert run_command(name, "--help=all") == 0
        full = capsys.readouterr().out
        defaults = SHIPPED_OPTION_DIR / f"{name}.yaml"
        keys = yaml.safe_load(defaults.read_text()) if defaults.exists() else {}
        assert all(f"\n{key}: " in full for key in keys)


def test_help_imports_no_slow_library():
    slow = "{'torch', 'numba', 'hydra', 'numpy', 'matplotlib'} & sys.modules.keys()"
    program = (
        f"import sys; from poker_rl import cli; cli.run_command(['-h']); sys.exit(len({slow}))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_list_shows_every_option(capsys):
    assert run_command("list") == 0
    out = capsys.readouterr().out
    for group, options in list_options_by_group([SHIPPED_OPTION_DIR]).items():
        assert f"{group}=\n" in out
        for name, path in options.items():
            text = read_first_comment(path)
            assert text, f"conf/{group}/{name}.yaml begins with no comment"
            assert f"  {name}" in out
            assert text in out
    assert run_command("list", "net") == 0
    assert "kuhn" not in capsys.readouterr().out


def test_all_settings_are_shown_with_their_comments(capsys):
    assert run_command("train", "game=kuhn_3p", "algo=ppo", "seed=7", "--cfg", "job") == 0
    out = capsys.readouterr().out
    assert "seed: 7  # seed of all random generators\n" in out
    assert "  ranks: TJQK  # lowest first, a character each\n" in out  # comment in kuhn.yaml
    assert "  gamma: 1.0  # discount" in out
    assert "hydra" not in out
    assert yaml.safe_load(out)["net"]["hidden_sizes"] == [64, 64]
    assert run_command("train", "--help=all", "algo=cfr") == 0
    out = capsys.readouterr().out
    assert "--multirun" in out
    assert "limit_holdem" in out
    assert "seed: 0  # seed of all" in out
    assert "budget_unit: iterations" in out


@pytest.mark.parametrize(
    "choice",
    [
        f"{group}={name}"
        for group in ("algo", "experiment", "evaluation", "net", "game")
        for name in list_options_by_group([SHIPPED_OPTION_DIR]).get(group, {})
    ],
)
def test_every_option_builds(choice, monkeypatch):
    """An algorithm's comment must end with its headline player, the first of `players()`."""
    started = []

    def record_start(config, algorithm, *_, **__):
        started.append((config, algorithm))

    monkeypatch.setattr(start_run, "train_in_folder", record_start)
    group, _, name = choice.partition("=")
    more = ["algo=reinforce"] if group == "net" else []  # an algorithm with networks
    if name.endswith("_from_one") or name == "big2_vine":  # warm_start is a placeholder
        more = ["warm_start=null"]
    assert run_command("train", choice, *more) == 0
    ((config, algorithm),) = started
    if group != "evaluation":
        assert config["names"][group] == name
    assert isinstance(config["budget"], int)
    assert config["budget"] >= config["evaluate_every"]
    if group == "algo":
        comment = read_first_comment(SHIPPED_OPTION_DIR / "algo" / f"{name}.yaml")
        headline = next(iter(algorithm.players()))
        assert re.search(f"; headline player: (.+, else )?{headline}$", comment), comment


def test_run_is_trained_evaluated_and_resumed(capsys, get_refusal):
    assert run_command(*TRAIN, "seed=3", "threads=1") == 0
    (folder,) = list_runs("kuhn/cfr_plus")
    out = capsys.readouterr().out
    assert f"run folder: {folder}" in out
    assert "measuring the players before training" in out
    assert folder.name.startswith("seed-3_2")
    assert sorted(path.name for path in Path().iterdir()) == ["outputs"]
    manifest = json.loads((folder / "manifest.json").read_text())
    command = " ".join(["poker-rl", *TRAIN, "seed=3", "threads=1"])
    assert manifest["command"] == command
    assert read_last_row(folder)["iterations"] == 10
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert (config["budget"], config["seed"]) == (10, 3)
    assert config["evaluation"]["x_axis"] == "iterations"  # from `${budget_unit}`

    match = ["against=[uniform,equilibrium]", "deals=1e2"]
    assert run_command("evaluate", f"run={folder}", *match) == 0
    out = capsys.readouterr().out
    assert "exploitability" in out
    assert "equilibrium" in out
    (report_path,) = folder.glob("evaluations/*.json")
    assert json.loads(report_path.read_text())["game"] == "kuhn"
    assert run_command("evaluate", f"run={folder}", "show=true") == 0
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
        ("warm_start=x", "warm_start"),
        ("budget=1", "budget"),
        ("budget=x", "budget"),
        ("budget_unit=hands", "budget_unit"),
        ("+algo.foo=1", "algo.foo"),
        ("evaluation.deals=x", "evaluation.deals"),
        ("evaluation.foo=1", "evaluation.foo"),
    ]:
        assert get_refusal("train", run, override).startswith(f"{key}: ")
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    settings = list(yaml.safe_load((folder / "config.yaml").read_text()))
    more = ["budget=20", "evaluation.deals=40", "evaluate_every=1"]
    more += ["precision=medium", "device=cpu"]
    assert run_command("train", run, *more) == 0
    medium = "medium" if has_bfloat16("cpu") else "highest"
    assert torch.get_float32_matmul_precision() == medium
    torch.set_float32_matmul_precision("highest")  # undo the setting in this process
    assert list_runs() == [folder]
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert list(config) == settings  # the order of settings is kept
    assert (config["budget"], config["evaluate_every"], config["seed"]) == (20, 1, 3)
    assert config["device"] == "cpu"
    assert config["evaluation"]["deals"] == 40
    assert read_last_row(folder)["iterations"] == 20
    assert get_refusal("train", run, "threads=10000").startswith("threads: 10000 are more than")
    message = get_refusal("evaluate", f"run={folder}@10:average")
    assert message.startswith(f"run: {folder}@10:average is no run folder: ")


def test_out_of_memory_while_training_is_printed_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr("poker_rl.algos.tabular.cfr.CFR.learn", lambda self: torch.empty(10**15))
    assert run_command(*TRAIN) == 1
    (message,) = [line for line in capsys.readouterr().err.splitlines() if "poker-rl: " in line]
    assert "out of memory while training; use fewer" in message
    assert json.loads((list_runs()[0] / "manifest.json").read_text())["status"] == "failed"


def test_named_run_is_not_overwritten_and_resumes_after_a_move(get_refusal):
    assert run_command(*TRAIN, "name=first", "outputs=there") == 0
    folder = Path("there/kuhn/cfr_plus/first")
    error = f"name: {folder} is there already; give another name, or resume it with resume={folder}"
    assert get_refusal(*TRAIN, "name=first", "outputs=there") == error
    assert run_command("train", f"resume={folder}", "budget=20") == 0
    folder.rename("moved")
    assert run_command("train", "resume=moved", "budget=30") == 0
    assert read_last_row(Path("moved"))["iterations"] == 30


def test_game_in_a_config_dir_of_the_user_is_trained(get_refusal, started_configs):
    Path("mine/game").mkdir(parents=True)
    game = Path("mine/game/five.yaml")
    game.write_text("# Five cards\ndefaults: [kuhn, _self_]\nname: five\nranks: TJQKA\n")
    options = ["--config-dir", "mine", "game=five"]
    assert run_command(*TRAIN, *options) == 0
    assert started_configs[0]["game"]["ranks"] == "TJQKA"
    for text, problem in (
        ("name: [\n", str(game.absolute())),
        ("defaults: [five]\n", "defaults that lead back to themselves"),
        ("name: five\n", "game: "),
    ):
        game.write_text(text)
        assert problem in get_refusal(*TRAIN, *options)


def test_options_of_the_user_have_precedence(started_configs, capsys, get_refusal):
    mine = Path("mine")
    (mine / "game").mkdir(parents=True)
    (mine / "player").mkdir()
    kuhn = (SHIPPED_OPTION_DIR / "game/kuhn.yaml").read_text()
    kuhn = kuhn.replace("ante: 1", "ante: 5  # all in")
    (mine / "game/kuhn.yaml").write_text(kuhn)
    bot = "# Mine\n_target_: poker_rl.players.bots.basic_bots.UniformBot\n"
    (mine / "player/my-bot.yaml").write_text(bot)
    (mine / "player/.#my-bot.yaml").symlink_to("me@host.1:2")  # Emacs's lock file, a broken link
    own = ["--config-dir", "mine"]

    assert run_command("train", *own, "game=kuhn", "--cfg", "job") == 0
    assert "  ante: 5  # all in" in capsys.readouterr().out
    assert run_command("list", "game", *own, "player") == 0
    out = capsys.readouterr().out
    assert f"12 information sets (Kuhn 1950)  [{mine / 'game/kuhn.yaml'}]\n" in out
    assert f"Mine  [{mine / 'player/my-bot.yaml'}]\n" in out
    assert out.count("[mine") == 2

    match = ["player=my-bot", "against=[my-bot,call]", "deals=30"]
    assert run_command("evaluate", *own, "game=kuhn", *match) == 0
    assert "my-bot  against call" in capsys.readouterr().out
    hint = "--config-dir FOLDER adds those in FOLDER/player"
    assert get_refusal("evaluate", "game=kuhn", *match).endswith(hint)
    # A run has copies of its opponents, so it resumes without the folder.
    opponents = "evaluation.opponents=[call,my-bot]"
    assert run_command("train", *own, "algo=reinforce", "opponents=[my-bot]", opponents) == 0
    file = "opponents/my-bot.yaml"  # path of the run's copy
    assert started_configs[0]["opponents"] == [file]
    assert started_configs[0]["evaluation"]["opponents"] == ["call", file]
    assert run_command("train", *own, "-m", "game=glob(kuh*,exclude=*_3p)", "seed=1,2") == 0
    assert [config["game"]["ante"] for config in started_configs[1:]] == [5, 5]
    (mine / "game/kuhn.yaml").write_text("[")  # an option that no run selects
    assert run_command("train", *own, "-m", "game=leduc", "seed=1,2") == 0
    (mine / "game/kuhn.yaml").write_text(kuhn)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_run, "train_in_folder", train_in_folder)
        assert run_command(*TRAIN, *own) == 0
    (folder,) = list_runs()
    command = json.loads((folder / "manifest.json").read_text())["command"]
    assert command == " ".join(["poker-rl", *TRAIN, "--config-dir=mine"])

    assert get_refusal("train", "--config-dir", "yours") == "--config-dir: yours is not a folder"


def test_evaluate_any_two_players(capsys, finished_run, monkeypatch):
    players = ["game=kuhn", "player=call", "against=[raise,equilibrium]", "deals=100"]
    assert run_command("evaluate", *players) == 0
    out = capsys.readouterr().out
    assert out.startswith("kuhn\n")
    assert "0.3333" in out  # exploitability of the player
    assert "-0.2222" in out  # winnings from the equilibrium: (-1/3 - 1/9) / 2
    assert "nothing was written" in out
    assert list(Path().iterdir()) == [Path("outputs")]

    folder = finished_run
    spec = f"{folder}@{read_last_row(folder)['decisions']}:average"
    assert run_command("evaluate", *players[:-2], f"against=[{spec}]", "out=there") == 0
    (report_path,) = Path("there").glob("*.json")
    report = json.loads(report_path.read_text())
    assert report["snapshot"] is None
    assert {row["player"] for row in report["results"]} == {"call"}
    assert f"against/{spec}" in {row["measure"] for row in report["results"]}
    assert report_path.with_suffix(".csv").exists()
    assert not (folder / "evaluations").exists()
    assert run_command("evaluate", "out=there", "show=true") == 0
    assert "against/[1]" in capsys.readouterr().out

    # `deals` defaults to evaluation.deals; a run folder stands for its headline player.
    words = ["game=kuhn", "evaluation.deals=60", f"player={folder}", "against=[call]"]
    monkeypatch.setattr(PlayerEvaluator, "build_figures", lambda *_: {"of a/b": Figure()})
    assert run_command("evaluate", *words, "out=figures", "figures=true") == 0
    out = capsys.readouterr().out
    assert "60 deals, each" in out
    assert f"{folder}@{read_last_row(folder)['decisions']}:average" in out
    assert [path.name for path in Path("figures").glob("*/*")] == ["of_a_b.png"]


def test_evaluate_exactly_on_the_public_tree(capsys):
    """Always calling has NashConv 2.9333 in Leduc."""
    words = ["evaluation.max_tree_nodes=1", "exact=true", "evaluation.opponents=[raise]"]
    assert run_command("evaluate", "game=leduc", "player=call", *words, "deals=30") == 0
    out, err = capsys.readouterr()
    assert re.search(r"nash_conv +2\.933 +ante/hand +exact", out)
    assert "against/raise" in out
    assert "/468 " in err  # 6 betting lines x 3 hands before the board, 30 x 5 hands x 3 boards


def test_evaluate_prints_lbr_and_best_response_bounds(capsys):
    words = ["game=leduc", "player=raise", "lbr=true", "best_responses=[fold]", "deals=60"]
    words += ["evaluation.max_tree_nodes=1", "against=[call]"]  # replaces evaluation.opponents
    assert run_command("evaluate", *words) == 0
    out = capsys.readouterr().out
    assert set(re.findall(r"against \w+", out)) == {"against call"}
    assert re.search(r"raise +bound/lbr +.* ante/hand +lower_bound +60\n", out)
    assert re.search(r"raise +bound/fold +-.*lower_bound, vacuous +60\n", out)


def test_exact_evaluations_run_at_their_own_interval():
    intervals = ["evaluate_every=2", "evaluation.max_tree_nodes=1", "evaluation.exact_every=5"]
    assert run_command(*TRAIN, *intervals, "algo.iterations_per_step=1") == 0
    (folder,) = list_runs()
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [row["iterations"] for row in rows] == [0, 2, 4, 5, 6, 8, 10]
    exact = [row["iterations"] for row in rows if "eval/average/exploitability" in row]
    assert exact == [5, 10]
    assert rows[-1]["eval/average/exploitability"] == pytest.approx(0.0327, abs=0.001)


def test_evaluate_a_mixed_table(capsys, finished_run):
    # A player that folds to every bet loses the ante to a player that always bets, in any seat.
    assert run_command("evaluate", "game=kuhn_3p", "seats=[raise,fold,fold]", "deals=50") == 0
    out = capsys.readouterr().out
    assert "50 deals, each played in every rotation of the players over the seats; ante/hand" in out
    rows = [line.split() for line in out.splitlines()]
    assert ["raise", "at", "the", "table", "1", "2", "2"] in rows
    assert ["fold", "at", "the", "table", "2", "-1", "-1"] in rows
    assert list(Path().iterdir()) == [Path("outputs")]

    run = f"run={finished_run}"
    assert run_command("evaluate", run, "seats=[self,raise]", "deals=60", "seed=2") == 0
    (report_path,) = (finished_run / "evaluations").glob("*.json")
    results = json.loads(report_path.read_text())["results"]
    own, exact, other, _ = (row for row in results if row["measure"] == "table")
    assert own["player"] == f"{finished_run}@{read_last_row(finished_run)['decisions']}:average"
    assert own["value"] == pytest.approx(-other["value"])
    assert exact["value"] == pytest.approx(1 / 9, abs=0.05)  # winnings of an equilibrium
    capsys.readouterr()
    assert run_command("evaluate", run, "show=true") == 0
    assert re.search(r"^1: seed 2, .*\nraise +table +-", capsys.readouterr().out, re.DOTALL)


def test_bot_in_a_yaml_file_of_the_user_plays(capsys, get_refusal):
    own = {**load_option("player", "mcts"), "simulations": 5}
    path = Path("mine.yaml")
    path.write_text(json.dumps(own))  # JSON is YAML
    match = ["evaluate", "game=kuhn", "player=mine.yaml", "against=[call,mine.yaml]", "deals=30"]
    assert run_command(*match) == 0
    assert "mine.yaml  against call" in capsys.readouterr().out
    for text, problem in (
        (json.dumps({**own, "simulations": "few"}), '.simulations: "few" is not an integer'),
        ("5", ": can't be read: Invalid loaded object type: int"),
        ("_target_: poker_rl.nets.dense.MLPConfig", "._target_: MLPConfig is not a Player"),
    ):
        path.write_text(text)
        assert get_refusal(*match) == f"player: mine.yaml{problem}"
    assert get_refusal(*TRAIN, "opponents=[no.yaml]") == "opponents: no.yaml: no such file"


def test_opponents_of_a_run_are_copied_into_its_folder(finished_run, monkeypatch, get_refusal):
    opponent = finished_run
    newest = read_last_row(opponent)["decisions"]
    Path("mine.yaml").write_text(json.dumps(load_option("player", "uniform")))
    words = [
        f"opponents=['{opponent}',self]",  # headline player of the newest snapshot
        f"evaluation.other_seats_player='{opponent}'",
        f"evaluation.opponents=['call:greedy','mine.yaml:greedy','{opponent}@0:current:greedy']",
    ]
    small = ["algo=reinforce", "budget=100", "evaluation.max_tree_nodes=1", "evaluation.deals=30"]
    assert run_command("train", *small, *words) == 0
    (run,) = list_runs("kuhn/reinforce")
    copy = f"opponents/cfr_plus_{opponent.name}@{newest}.pt"
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config["opponents"] == [f"{copy}:average", "self"]
    assert config["evaluation"]["other_seats_player"] == f"{copy}:average"
    first = f"opponents/cfr_plus_{opponent.name}@0.pt:current:greedy"
    assert config["evaluation"]["opponents"] == ["call:greedy", "opponents/mine.yaml:greedy", first]
    assert (run / copy).read_bytes() == (opponent / f"players/{newest}.pt").read_bytes()

    # The run resumes in another folder, without the original files of its opponents.
    opponent.rename("away")
    Path("mine.yaml").unlink()
    moved = run.rename(Path("moved").resolve())
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert run_command("train", f"resume={moved}", "budget=200") == 0
    assert f"eval/current/against/{first}" in read_last_row(moved)
    assert run_command("evaluate", f"run={moved}", "player=current:greedy", "deals=30") == 0
    twice = get_refusal("evaluate", f"run={moved}", "player=current:greedy:greedy")
    assert twice.startswith("player: current:greedy:greedy is not a name, as in current, ")


def test_closed_pipe_interrupts_the_run():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as pipe:
        outputs = {"stdout": pipe, "stderr": subprocess.PIPE}
        process = subprocess.run([*PROGRAM, *TRAIN], **outputs, env=ENVIRONMENT, check=False)
    assert (process.returncode, process.stderr) == (141, b"")
    (folder,) = list_runs()
    assert json.loads((folder / "manifest.json").read_text())["status"] == "interrupted"


def test_list_succeeds_with_closed_output():
    shell = f"{shlex.join([*PROGRAM, 'list', 'game'])} >&-"
    done = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


MISTAKES = [
    ("trian", "trian: no such command", "did you mean train? allowed: advise"),
    ("train --seed 3", "unrecognized arguments: --seed", "a setting has no dashes: seed=…"),
    ("train .", ".: can't be read", "a run folder is given as run=., or resume=. to train on"),
    ("train game=khun", "game=khun: no such option", "did you mean kuhn? allowed: big2, "),
    ("train algo=cfr net=mlp_small", "net: no selected option takes one", "without networks"),
    ("train gmae=kuhn", "gmae: no such setting", "did you mean game? allowed: algo, budget"),
    ("train hydra.run.dir=x", "hydra.run.dir: has no effect here", "a sweep (-m) takes"),
    ("train algo.gamma=0.9,1", "algo.gamma=0.9,1: several values need -m", "a list is key=[a,b]"),
    ("train algo.lr=fast", 'algo.lr: "fast" is neither a number nor a schedule', "{start, end, "),
    ("train budget_unit=hands", "algo.lr.horizon: can't follow the budget", "give a number of"),
    ("train algo=nfsp algo.replay_capacity=1e13", "algo.replay_capacity: 10,000,000,000,000", ""),
    ("train opponents=[unifrm]", "opponents: no player is called unifrm", "did you mean uniform?"),
    ("train opponents=[call,call]", "opponents: a player is named twice", ""),
    ("train opponents=[call] opponent_weights=[1,2]", "opponent_weights: 2 for 1 opponents", ""),
    ("train algo=cfr opponents=[uniform]", "opponents: CFR takes none", ""),
    ("train resume=outputs/none", "resume: outputs/none is no run folder", ""),
    ("train -m hydra/launcher=jobli seed=1,2", "hydra/launcher=jobli: no such option", "joblib"),
    ("evaluate", "run: missing", "give run=FOLDER, or game=NAME and player=NAME or seats=[…]"),
    ("evaluate game=kuhn_3p seats=[call,raise]", "seats: 2 given, but kuhn_3p has 3 seats", ""),
    ("tournament players=[call,raise]", "game: missing", "give game=NAME players=[…], or resume"),
]


@pytest.mark.parametrize(("arguments", "mistake", "allowed"), MISTAKES)
def test_mistakes_are_explained_in_one_line(arguments, mistake, allowed, get_refusal):
    message = get_refusal(*arguments.split(" "))
    assert message.startswith(mistake)
    assert allowed in message
    assert "\n" not in message
    assert not list(Path().iterdir())


# Names that users of Stable-Baselines3, CleanRL and RLlib know.
OTHER_NAMES = {"ent_coef": "algo.entropy_coef", "n_steps": "algo.rollout_steps"}
OTHER_NAMES |= {"total_timesteps": "budget", "net_arch": "net.hidden_sizes", "env": "game"}
OTHER_NAMES |= {"learning_rate": "algo.lr", "algo.clip_range": "algo.clip_coef"}


def test_keys_of_other_libraries_get_a_suggestion():
    with initialize_hydra([SHIPPED_OPTION_DIR]):
        for word, key in OTHER_NAMES.items():
            hint = f"{word}: no such setting; did you mean {key}? allowed: "
            with pytest.raises(ConfigError, match=f"^{re.escape(hint)}"):
                compose_config([f"{word}=1"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_without_a_gpu_is_refused(get_refusal):
    assert get_refusal(*TRAIN, "device=cuda").startswith("device: cuda, but torch ")


def test_edited_config_of_a_run_is_checked(finished_run, get_refusal):
    path = finished_run / "config.yaml"
    config = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(config | {"game": {"_target_": "os.system", "command": "true"}}))
    message = 'game._target_: "os.system" is not a class of poker_rl; is its plug-in installed?'
    assert get_refusal("evaluate", f"run={finished_run}") == message
    assert get_refusal("train", f"resume={finished_run}", "budget=90") == message
    path.write_text(path.read_text() + "a: &a [1]\nb: *a\n")
    assert "can't be read" in get_refusal("evaluate", f"run={finished_run}")
    path.write_text(yaml.safe_dump(config | {"game": config["game"] | {"ranks": "TJQ"}}))
    assert "another kuhn: ranks" in get_refusal("evaluate", f"run={finished_run}")
    assert get_refusal("train", f"resume={finished_run}", "budget=90").startswith("game.ranks: ")


@pytest.mark.parametrize(
    ("error", "exit_code", "line"),
    [
        (DivergedError("loss/policy is nan"), 2, "loss/policy is nan"),
        (RunInterruptedError(15, "stopped"), 143, "stopped"),
        (KeyboardInterrupt(), 130, ""),
        (ZeroDivisionError("division"), 1, "ZeroDivisionError: division"),
    ],
)
def test_exit_code_and_message_of_a_run_that_stops(error, exit_code, line, monkeypatch, capsys):
    monkeypatch.setattr(start_run, "train_in_folder", Mock(side_effect=error))
    assert run_command(*TRAIN) == exit_code
    *rest, last = capsys.readouterr().err.splitlines() or [""]
    assert last == (f"poker-rl: {line}" if line else "")
    assert bool(rest) == (exit_code == 1)  # only a bug prints a traceback
