"""What people use from Python: docs/library.md as it stands, and the public names of the rooms."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numba
import pytest
import torch

from poker_rl.algos import load_algorithm
from poker_rl.config import Refused, set_threads, threads
from poker_rl.config.compose import composed
from poker_rl.games import load_game
from poker_rl.players import load_player

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "library.md").read_text(encoding="utf-8")
PARTS = re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```\n\n^```text\n(.*?)^```", PAGE, re.M | re.S)
ROOMS = ("algos", "config", "evaluation", "games", "learning", "nets", "players")


@pytest.mark.parametrize(("code", "prints"), [part[1:] for part in PARTS], ids=lambda _: "")
def test_the_page_prints_what_it_says(
    code: str, prints: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(code.splitlines()) <= 14  # about ten, and the imports
    exec(compile(code, "library.md", "exec"), {"__name__": "notebook"})
    assert capsys.readouterr().out == prints


def test_every_block_of_the_page_is_run() -> None:
    assert len(PARTS) == PAGE.count("```python") == PAGE.count("\n## ") == 6


def test_what_counts_for_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="game: counts for nothing here; allowed: settings of algo, "):
        load_algorithm("ppo", load_game("kuhn"), "game=leduc")
    with pytest.raises(Refused, match="seed: counts for nothing here"):
        load_algorithm("ppo", load_game("kuhn"), "seed=7")
    with pytest.raises(Refused, match="ante: counts for nothing here; allowed: settings of game"):
        load_game("kuhn", "ante=2")
    with pytest.raises(Refused, match='game: "kuhn" is a name; give a game, such as load_game'):
        load_algorithm("ppo", "kuhn")  # type: ignore[arg-type]


@pytest.fixture
def all_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process in which nobody has chosen a number of threads: torch has taken several."""
    before = torch.get_num_threads(), numba.get_num_threads()
    monkeypatch.setattr(threads, "_chosen", False)
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
def test_as_many_threads_as_on_the_command_line(load: Callable[[], object]) -> None:
    load()
    default = composed([])["threads"]
    assert (torch.get_num_threads(), numba.get_num_threads()) == (default, default)
    torch.set_num_threads(2)  # what is chosen afterwards stays
    load()
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("all_cores")
def test_threads_that_were_chosen_stay() -> None:
    most = numba.config.NUMBA_NUM_THREADS
    set_threads(most)
    load_algorithm("ppo", load_game("kuhn"))
    assert (torch.get_num_threads(), numba.get_num_threads()) == (most, most)
    for wrong in (0, most + 1):
        with pytest.raises(Refused, match=f"^threads: {wrong}; allowed: 1 to {most}, which is "):
            set_threads(wrong)


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_say_what_they_are(room: str) -> None:
    module = import_module(f"poker_rl.{room}")
    assert module.__all__
    for name in module.__all__:
        public = getattr(module, name)
        if isinstance(public, type) or inspect.isfunction(public):
            assert inspect.getdoc(public), f"poker_rl.{room}.{name} has no docstring"
