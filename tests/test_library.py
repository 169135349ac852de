"""What people use from Python: docs/library.md as it stands, and the public names of the rooms."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from poker_rl.algos import load_algorithm
from poker_rl.config import Refused
from poker_rl.games import load_game

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
    assert len(PARTS) == PAGE.count("```python") == PAGE.count("\n## ") == 5


def test_what_counts_for_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="game: counts for nothing here; allowed: settings of algo, "):
        load_algorithm("ppo", load_game("kuhn"), "game=leduc")
    with pytest.raises(Refused, match="seed: counts for nothing here"):
        load_algorithm("ppo", load_game("kuhn"), "seed=7")
    with pytest.raises(Refused, match="ante: counts for nothing here; allowed: settings of game"):
        load_game("kuhn", "ante=2")
    with pytest.raises(Refused, match='game: "kuhn" is a name; give a game, such as load_game'):
        load_algorithm("ppo", "kuhn")  # type: ignore[arg-type]


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_say_what_they_are(room: str) -> None:
    module = import_module(f"poker_rl.{room}")
    assert module.__all__
    for name in module.__all__:
        public = getattr(module, name)
        if isinstance(public, type) or inspect.isfunction(public):
            assert inspect.getdoc(public), f"poker_rl.{room}.{name} has no docstring"
