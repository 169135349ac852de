"""Values of settings, as they are typed on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from poker_rl.config.compose import compose_config, initialize_hydra
from poker_rl.config.hydra_overrides import read_with_overrides
from poker_rl.config.option_files import list_option_dirs, to_plain_dict
from poker_rl.config.sweep_overrides import split_sweep
from poker_rl.config.validation import ConfigError


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
def read_settings(tmp_path: Path) -> Any:
    """Function that reads settings as a command does."""
    path = tmp_path / "x.yaml"
    path.write_text("out: null\nactions: a\ndeals: 1\nagainst: []\nspace: {}\n")
    return lambda *words: read_with_overrides(path, words, Settings)


@pytest.mark.parametrize("text", TEXTS)
def test_text_needs_no_quotes(read_settings, text):
    assert read_settings(f"out={text}", f"actions={text}") == {
        **read_settings(),
        "out": text,
        "actions": text,
    }
    if "${" not in text:  # which a run resolves
        with initialize_hydra(list_option_dirs(None)):
            typed = [f"{key}={text}" for key in ("outputs", "name", "resume", "warm_start")]
            composed = to_plain_dict(compose_config(typed).config)
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
        ("against=[algo.hands_per_iteration=1k,call]", ["algo.hands_per_iteration=1k", "call"]),
        ("space={algo.lr: {low: 1k, log: true}}", {"algo.lr": {"low": 1e3, "log": True}}),
    ],
)
def test_other_values(read_settings, typed, value):
    assert read_settings(typed)[typed.partition("=")[0]] == value


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("against", "against: can't be read; write key=value"),
        ("against=[x", r"against=\[x: can't be read; write key=value"),
        ("~out", "~out: can't be read; write key=value"),
        ("against=a,b", r"against: takes one value; a list is against=\[a,b\]"),
    ],
)
def test_overrides_that_can_not_be_read(read_settings, typed, problem):
    with pytest.raises(ConfigError, match=f"^{problem}"):
        read_settings(typed)


def test_a_sweep_has_several_texts_and_numbers():
    words = ["name=a,b", "outputs=x #1", "budget=1k,2M", "seed=range(start=1,stop=3)"]
    with initialize_hydra(list_option_dirs(None)):
        _, jobs = split_sweep(words)
        settings = [to_plain_dict(compose_config(job).config) for job in jobs]
    keys = ("name", "outputs", "budget", "seed")
    assert [tuple(job[key] for key in keys) for job in settings] == [
        (name, "x #1", budget, seed) for name in "ab" for budget in (1e3, 2e6) for seed in (1, 2)
    ]
