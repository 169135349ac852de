"""Examples of docs/library.md, and the public names of the packages."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numba
import pytest
import torch

from poker_rl.algos import load_algorithm
from poker_rl.config import ConfigError, set_threads, threads
from poker_rl.config.compose import compose_plain_config
from poker_rl.games import load_game
from poker_rl.players import load_player

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "library.md").read_text(encoding="utf-8")
PARTS = re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```\n\n^```text\n(.*?)^```", PAGE, re.M | re.S)
PACKAGES = ("algos", "config", "evaluation", "games", "learning", "nets", "players")


@pytest.mark.parametrize(("code", "output"), [part[1:] for part in PARTS], ids=lambda _: "")
def test_examples_print_their_output(code, output, capsys):
    assert len(code.splitlines()) <= 14  # about ten, and the imports
    exec(compile(code, "library.md", "exec"), {"__name__": "notebook"})
    assert capsys.readouterr().out == output


def test_every_example_is_run():
    assert len(PARTS) == PAGE.count("```python") == PAGE.count("\n## ") == 5


def test_overrides_without_effect_are_errors():
    with pytest.raises(ConfigError, match="game: has no effect here; allowed: settings of algo, "):
        load_algorithm("ppo", load_game("kuhn"), "game=leduc")
    with pytest.raises(ConfigError, match="seed: has no effect here"):
        load_algorithm("ppo", load_game("kuhn"), "seed=7")
    with pytest.raises(ConfigError, match="ante: has no effect here; allowed: settings of game"):
        load_game("kuhn", "ante=2")
    with pytest.raises(ConfigError, match='game: "kuhn" is a name; give a game, such as load_game'):
        load_algorithm("ppo", "kuhn")  # type: ignore[arg-type]


@pytest.fixture
def all_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Process without a chosen number of threads, in which torch uses several."""
    before = torch.get_num_threads(), numba.get_num_threads()
    monkeypatch.setattr(threads, "_threads_were_set", False)
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before[0])
    numba.set_num_threads(before[1])


@pytest.mark.parametrize(
    "load",
    [
        lambda: load_algorithm("ppo", load_game("kuhn")),
        lambda: load_player("uniform", load_game("kuhn")),
    ],
)
@pytest.mark.usefixtures("all_cores")
def test_as_many_threads_as_on_the_command_line(load):
    load()
    default = compose_plain_config([])["threads"]
    assert (torch.get_num_threads(), numba.get_num_threads()) == (default, default)
    torch.set_num_threads(2)  # a later choice is kept
    load()
    assert torch.get_num_threads() == 2


def test_one_thread_in_a_new_process():
    """There numba has no thread pool yet, whose start sets the number of threads of OpenMP."""
    program = "import torch; from poker_rl.config import set_threads; torch.get_num_threads();"
    program += "set_threads(1); assert torch.get_num_threads() == 1"
    environment = {name: os.environ[name] for name in os.environ if name != "OMP_NUM_THREADS"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.usefixtures("all_cores")
def test_a_chosen_number_of_threads_is_kept():
    max_threads = numba.config.NUMBA_NUM_THREADS
    set_threads(max_threads)
    load_algorithm("ppo", load_game("kuhn"))
    assert (torch.get_num_threads(), numba.get_num_threads()) == (max_threads, max_threads)
    for wrong in (0, max_threads + 1):
        with pytest.raises(
            ConfigError, match=f"^threads: {wrong}; allowed: 1 to {max_threads}, which is "
        ):
            set_threads(wrong)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_have_docstrings(package):
    module = import_module(f"poker_rl.{package}")
    assert module.__all__
    for name in module.__all__:
        public = getattr(module, name)
        if isinstance(public, type) or inspect.isfunction(public):
            assert inspect.getdoc(public), f"poker_rl.{package}.{name} has no docstring"
