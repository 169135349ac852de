"""Values of settings, as they are typed on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from poker_rl.config.compose import compose, opened
from poker_rl.config.options import folders, plain
from poker_rl.config.overrides import overridden
from poker_rl.config.settings import Refused
from poker_rl.config.sweeps import split


@dataclass
class Settings:
    out: str | None
    actions: str
    deals: int
    against: list[str]
    space: dict[str, Any]


TEXTS = [
    *("x #y", "pol.csv #1.csv", "#y", "|", "a=b, c (1) #2", "", " x ", "22", "007", "1e3", "true"),
    *(
        "a'b",
        "a\\b",
        "a\\",
        "'a' b",
        "${x}",
        "a${x}b",
        "[x",
        "{",
        "~/a;b!",
        "läuf, häuf",
        "4k",
        "a\nb",
    ),
]


@pytest.fixture
def given(tmp_path: Path) -> Any:
    """Reads settings as a command does that is given them."""
    path = tmp_path / "x.yaml"
    path.write_text("out: null\nactions: a\ndeals: 1\nagainst: []\nspace: {}\n")
    return lambda *words: overridden(path, words, Settings)


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_taken_as_it_is_typed(given: Any, text: str) -> None:
    assert given(f"out={text}", f"actions={text}") == {
        **given(),
        "out": text,
        "actions": text,
    }
    if "${" not in text:  # which a run resolves
        with opened(folders(None)):
            typed = [f"{key}={text}" for key in ("outputs", "name", "resume", "warm_start")]
            composed = plain(compose(typed).settings)
        assert [composed[word.partition("=")[0]] for word in typed] == [text] * 4


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("out=null", None),
        ("out='null'", "null"),
        ("out=\"a 'b' #\"", "a 'b' #"),
        ("deals=100k", 100e3),
        ("deals=1.5M", 1.5e6),
        ("against=[a#b,c=d,~/e;f,'g, h']", ["a#b", "c=d", "~/e;f", "g, h"]),
        ("against=[algo.hands=1k,call]", ["algo.hands=1k", "call"]),
        ("space={algo.lr: {low: 1k, log: true}}", {"algo.lr": {"low": 1e3, "log": True}}),
    ],
)
def test_other_values(given: Any, typed: str, value: Any) -> None:
    assert given(typed)[typed.partition("=")[0]] == value


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("against", "against: can't be read; write key=value"),
        ("against=[x", r"against=\[x: can't be read; write key=value"),
        ("~out", "~out: can't be read; write key=value"),
        ("against=a,b", r"against: takes one value; a list is against=\[a,b\]"),
    ],
)
def test_what_can_not_be_read(given: Any, typed: str, says: str) -> None:
    with pytest.raises(Refused, match=f"^{says}"):
        given(typed)


def test_a_sweep_has_several_texts_and_numbers() -> None:
    words = ["name=a,b", "outputs=x #1", "budget=1k,2M", "seed=range(start=1,stop=3)"]
    with opened(folders(None)):
        _, jobs = split(words)
        settings = [plain(compose(job).settings) for job in jobs]
    keys = ("name", "outputs", "budget", "seed")
    assert [tuple(one[key] for key in keys) for one in settings] == [
        (name, "x #1", budget, seed) for name in "ab" for budget in (1e3, 2e6) for seed in (1, 2)
    ]
