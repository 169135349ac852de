"""What people use from Python: docs/library.md as it stands, and the public names of the rooms."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_say_what_they_are(room: str) -> None:
    module = import_module(f"poker_rl.{room}")
    assert module.__all__
    for name in module.__all__:
        public = getattr(module, name)
        if isinstance(public, type) or inspect.isfunction(public):
            assert inspect.getdoc(public), f"poker_rl.{room}.{name} has no docstring"
