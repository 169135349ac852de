"""Plug-ins: the installed example, precedence of options, broken plug-ins, compiled rules."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run_command

from poker_rl.config.plugins import list_plugins

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "plugin"


def run(command, cwd, installed, **variables):
    """Run a command with a folder of packages on its import path; return the finished process."""
    environment = os.environ | {"PYTHONPATH": str(installed)} | variables
    options = {"capture_output": True, "text": True, "check": False}
    return subprocess.run(command, cwd=cwd, env=environment, **options)


def add_plugin(folder, package, entry="", **files):
    """Install a plug-in into `folder`; keywords are file paths, `conf__a_yaml` is conf/a.yaml."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").touch()
    information = folder / f"{package}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = f"[poker_rl.plugins]\n{package} = {entry or package}\n"
    (information / "entry_points.txt").write_text(lines)
    for name, text in files.items():
        path = folder / package / name.replace("__", "/").replace("_py", ".py")
        path = path.with_name(path.name.replace("_yaml", ".yaml"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_tests_of_the_installed_example_plugin_pass(tmp_path):
    """The plug-in's tests run in another folder, so that they import the installed package."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(tmp_path / "site")]
    subprocess.run([*pip, *options, str(EXAMPLE)], check=True)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXAMPLE / "tests"]
    process = run(tests, tmp_path, tmp_path / "site")
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.fixture
def install(monkeypatch):
    """Return a function that adds a folder of installed packages to the import path."""

    def add(site):
        monkeypatch.syspath_prepend(site)
        list_plugins.cache_clear()

    yield add
    monkeypatch.undo()
    list_plugins.cache_clear()


@pytest.mark.usefixtures("working_folder")
def test_class_of_a_package_that_is_no_plugin_is_refused(monkeypatch, get_refusal):
    """Only an installed plug-in is trusted, not every package that can be imported."""
    monkeypatch.syspath_prepend(EXAMPLE)
    conf = f"--config-dir={EXAMPLE / 'goofspiel' / 'conf'}"
    refusal = get_refusal("train", conf, "game=goofspiel")
    problem = '"goofspiel.display.DisplayedGoofspiel" is not a class of poker_rl; is its plug-in'
    assert refusal == f"game._target_: {problem} installed?"
    assert not Path("outputs").exists()


@pytest.mark.usefixtures("working_folder")
def test_shipped_options_take_precedence_over_plugins(tmp_path, install, capsys):
    greedy = "# Not Kuhn\n_target_: greedy.game.Game\n"
    bot = "# Of the plug-in\n_target_: poker_rl.players.bots.basic_bots.UniformBot\n"
    files = {"conf__game__kuhn_yaml": greedy, "conf__player__theirs_yaml": bot}
    install(add_plugin(tmp_path / "site", "greedy", **files))
    assert run_command("list", "game") == run_command("train", "--cfg=job") == 0
    out = capsys.readouterr().out
    assert "Not Kuhn" not in out
    assert "_target_: poker_rl.games.poker.fixed_limit_poker.FixedLimitPoker" in out

    Path("mine/player").mkdir(parents=True)
    Path("mine/player/theirs.yaml").write_text(bot.replace("the plug-in", "mine"))
    assert run_command("list", "player", "--config-dir=mine") == 0
    assert "  Of mine  [mine/player/theirs.yaml]\n" in capsys.readouterr().out


@pytest.mark.usefixtures("working_folder")
def test_plugin_without_a_top_level_package_is_refused(tmp_path, install, get_refusal):
    install(add_plugin(tmp_path / "site", "lost", "lost.nested"))
    problem = "plug-in lost: there is no top-level package lost.nested"
    for command in (["list", "game"], ["train", "--cfg=job"]):
        assert get_refusal(*command) == f"{problem}; install it again or uninstall it"


@pytest.mark.usefixtures("working_folder")
def test_missing_import_of_a_plugin_is_reported_in_one_line(tmp_path, install, get_refusal):
    game = "# A game\n_target_: lacking.game.Game\n"
    code = "import surely_not_installed\n"
    install(add_plugin(tmp_path / "site", "lacking", conf__game__lacking_yaml=game, game_py=code))
    why = "can't be imported: No module named 'surely_not_installed'"
    assert get_refusal("train", "game=lacking") == f"game._target_: lacking.game {why}"


def test_edited_rules_are_compiled_again(tmp_path):
    """The compiled loop is cached for a file of poker_rl; the edit is in a plug-in's file."""
    rules = "from poker_rl.games import jit\nfrom moving.points import points\n\n\n"
    rules += "@jit\ndef payoffs(game, table, out):\n    out[0] = points(table)\n"
    points = "from poker_rl.games import jit\n\n\n@jit\ndef points(table):\n    return {}\n"
    files = {"rules_py": rules, "points_py": points.format(1)}
    site = add_plugin(tmp_path / "site", "moving", **files)
    program = """
import numpy as np
from moving import rules
from poker_rl.games.table_loops import compile_loop, output_rule_loop
won = np.zeros((1, 1), np.int64)
tables = np.zeros(1, [("variant", "u1")])
compile_loop(output_rule_loop, rules, False, "payoffs")(tables, tables, np.zeros(1, np.int64), won)
print(won[0, 0])
"""
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for number in (1, 2):
        (site / "moving" / "points.py").write_text(points.format(number))
        process = run([sys.executable, "-c", program], tmp_path, site, **cache)
        assert process.stdout == f"{number}\n", process.stderr


def test_unwritable_cache_folder_is_reported_in_one_line(tmp_path, monkeypatch):
    for name in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    program = "import numpy as np; from poker_rl.games.game import hash_bytes;"
    program += "print(hash_bytes(np.zeros(3, np.uint8), np.uint64(1)))"
    folders = {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    process = run([sys.executable, "-c", program], tmp_path, ROOT, **folders)
    assert process.stdout.strip().isdecimal()
    (line,) = process.stderr.splitlines()
    assert line.startswith("poker-rl: compiled rules can't be kept: ")
    assert "/dev/null/.cache/poker-rl/" in line
    assert line.endswith("Set XDG_CACHE_HOME to a folder that can be written")
    assert list(tmp_path.rglob("game.hash_bytes-*.nbc"))
