"""Lookup of classes, conversion of settings by `build`, errors, and text without quotes."""

import sys
from dataclasses import InitVar, dataclass
from types import ModuleType
from typing import Annotated, Any, Literal, Protocol

import numpy as np
import pytest
import torch

from poker_rl.config import ConfigError, PositiveFloat, PositiveInt, Probability, Range
from poker_rl.config.build import build, convert_fields
from poker_rl.config.compose import (
    UngroupedConfig,
    compose_config,
    initialize_hydra,
    split_launcher_and_job_overrides,
)
from poker_rl.config.option_files import (
    SHIPPED_OPTION_DIR,
    list_option_dirs,
    read_plain_yaml,
    to_plain_dict,
)
from poker_rl.config.overrides import compose_command_settings
from poker_rl.config.plugins import Plugin
from poker_rl.config.target_classes import load_class
from poker_rl.players import TabularPlayer


class Shape(Protocol):
    def area(self): ...


@dataclass(kw_only=True)
class Square:
    side: PositiveFloat

    def area(self):
        return self.side**2


@dataclass(kw_only=True)
class Flat:
    side: PositiveFloat


@dataclass(kw_only=True)
class Base:
    gamma: Probability
    device: InitVar[str]

    def __post_init__(self, device):
        self.on = device


@dataclass(kw_only=True)
class Learner(Base):
    hands_per_iteration: PositiveInt
    name: str
    fast: bool
    kind: Literal["own", "other"]
    sizes: list[PositiveInt]
    pair: tuple[float, ...]
    shape: Shape
    limit: Annotated[int, Range(0, 9)] | None

    def __post_init__(self, device):
        super().__post_init__(device)
        if self.hands_per_iteration > 1000:
            raise ConfigError(
                f"hands_per_iteration: {self.hands_per_iteration} are too many for {self.name}"
            )
        if self.name == "nobody":
            raise ConfigError("nobody learns nothing")


@dataclass(kw_only=True)
class Broken:
    def __post_init__(self):
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def register_classes(monkeypatch):
    """Register the classes of this file as a module of poker_rl."""
    fake = ModuleType("poker_rl.fake")
    vars(fake).update((name, value) for name, value in globals().items() if name[0] != "_")
    for target in (Square, Flat, Base, Learner, Broken):
        monkeypatch.setattr(target, "__module__", "poker_rl.fake")
    fake.function = print
    monkeypatch.setitem(sys.modules, "poker_rl.fake", fake)


SQUARE = {"_target_": "poker_rl.fake.Square", "side": 2}
LEARNER = {"_target_": "poker_rl.fake.Learner", "gamma": 1, "hands_per_iteration": 1e2}
LEARNER |= {"name": "somebody", "fast": True, "kind": "own", "limit": None, "shape": SQUARE}
LEARNER |= {"sizes": [8, 16.0], "pair": [1, 0.5]}


def learner(**changes):
    return build(LEARNER | changes, "algo", device="cpu", seed=3)


def test_values_are_converted_by_their_annotations():
    built = learner()
    values = {"gamma": 1.0, "hands_per_iteration": 100, "sizes": [8, 16], "pair": (1.0, 0.5)}
    unchanged = {key: LEARNER[key] for key in ("name", "fast", "kind", "limit")}
    assert built == Learner(**values, **unchanged, shape=Square(side=2.0), device="cpu")
    assert built.on == "cpu"
    converted = (built.gamma, built.hands_per_iteration, built.sizes[1])
    assert [type(value) for value in converted] == [float, int, int]
    assert learner(limit=9.0).limit == 9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gamma": 3.96}, "algo.gamma: 3.96 is not in [0, 1]"),
        ({"gamma": "fast"}, 'algo.gamma: "fast" is not a number'),
        ({"gamma": float("nan")}, "algo.gamma: NaN is not a number"),
        ({"gamma": "???"}, "algo.gamma: missing; give algo.gamma=…"),
        ({"hands_per_iteration": 2.5}, "algo.hands_per_iteration: 2.5 is not an integer"),
        ({"hands_per_iteration": 2000}, "algo.hands_per_iteration: 2000 are too many for somebody"),
        ({"name": 5}, "algo.name: 5 is not text (what looks like a number needs quotes)"),
        ({"kind": "othr"}, 'algo.kind: "othr" is no choice; did you mean other? allowed: oth'),
        ({"sizes": 8}, "algo.sizes: 8 is not a list, such as [8]"),
        ({"shape": 2}, "algo.shape: 2 is not settings with a `_target_`, their class"),
        ({"shape": SQUARE | {"side": -1}}, "algo.shape.side: -1.0 is not in (0, inf)"),
        ({"shape": SQUARE | {"_target_": "poker_rl.fake.Flat"}}, "algo.shape._target_: Flat is "),
        ({"gama": 1}, "algo.gama: no such setting; did you mean gamma? allowed: fast, gamma"),
        ({"_target_": "os.system"}, 'algo._target_: "os.system" is not a class of poker_rl'),
    ],
)
def test_errors_name_the_key_and_what_is_allowed(changes, message):
    with pytest.raises(ConfigError) as error:
        learner(**changes)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("allocate", [lambda: np.empty(10**19), lambda: torch.empty(10**15)])
def test_allocation_beyond_memory_is_a_config_error(monkeypatch, allocate):
    monkeypatch.setattr(Broken, "__post_init__", lambda self: allocate())
    with pytest.raises(ConfigError, match=r"^net: too large for the memory of this machine$"):
        build({"_target_": "poker_rl.fake.Broken"}, "net")


DEFAULTS = read_plain_yaml(SHIPPED_OPTION_DIR / "config.yaml")
ROOT = {key: value for key, value in DEFAULTS.items() if key != "defaults"}
ROOT |= {"budget": 1e6, "budget_unit": "decisions", "evaluate_every": 1e4, "checkpoint_every": 1e5}


@pytest.mark.parametrize("name", ["..", "a/b", "-x", "x" * 61, "a\0"])
def test_invalid_names_of_run_folders_are_refused(name):
    UngroupedConfig(**convert_fields(UngroupedConfig, {**ROOT, "name": "first_0.5+x=1"}, "", {}))
    message = "name: .* is no name of a folder; allowed: up to 60 letters"
    with pytest.raises(ConfigError, match=message):
        UngroupedConfig(**convert_fields(UngroupedConfig, {**ROOT, "name": name}, "", {}))


def test_yaml_reads_exponents_and_references_as_floats(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: 1e6\nb: 1e-3\nc: ${a}\n")
    assert read_plain_yaml(path) == {"a": 1e6, "b": 1e-3, "c": 1e6}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [", "can't be read: "),
        ("- a", "is not a file of settings"),
        ("a: 1\na: 2", "can't be read: "),
        ("a: ${b}", "a: Interpolation key 'b' not found"),
        ("a: ${b", "can't be read: no viable alternative at input '${b'"),
        ("a: " + "[" * 5000, "can't be read: "),
        ("a: !!int x", "can't be read: invalid literal for int() with base 10: 'x'"),
    ],
)
def test_errors_of_yaml_files_name_the_file_in_one_line(tmp_path, text, problem):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_plain_yaml(path)
    assert str(error.value).startswith(f"{path}: {problem}")
    assert "\n" not in str(error.value)


def test_only_classes_defined_in_poker_rl_are_loaded():
    assert load_class("poker_rl.players.tabular_player.TabularPlayer") is TabularPlayer
    functions = "poker_rl.players.player_loader.load_player", "poker_rl.nets.dense.dense"
    imported = "poker_rl.players.player_loader.Path", "poker_rl.nets.dense.nn.Module"
    others = "pathlib.Path", "os.system", "poker_rl", "TablePlayer", None
    for target in (*functions, *imported, *others):
        with pytest.raises(ConfigError, match="is not a class of poker_rl"):
            load_class(target)


def test_plugin_may_name_only_classes_that_it_defines(tmp_path, monkeypatch):
    (tmp_path / "trusted").mkdir()
    source = "from pathlib import Path\n\n\nclass Own:\n    pass\n"
    (tmp_path / "trusted" / "__init__.py").write_text(source)
    (tmp_path / "trusted_too.py").write_text(source)
    installed = [Plugin("trusted", "trusted", "1.0", tmp_path / "trusted")]
    monkeypatch.setattr("poker_rl.config.plugins.list_plugins", lambda: installed)
    monkeypatch.syspath_prepend(tmp_path)
    assert load_class("trusted.Own").__module__ == "trusted"
    for target in ("trusted.Path", "trusted_too.Own", "trusted.gone.Own", "pathlib.Path"):
        message = "is not a class of poker_rl or of the plug-in trusted"
        with pytest.raises(ConfigError, match=message):
            load_class(target)
    assert "trusted_too" not in sys.modules  # it was not even imported


def test_error_names_a_missing_optional_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.delitem(sys.modules, "poker_rl.integrations.sb3_vec_env", raising=False)
    with pytest.raises(ConfigError, match=r"sb3_vec_env can't be imported: .*stable_baselines"):
        load_class("poker_rl.integrations.sb3_vec_env.SB3VecEnv")


@dataclass
class Settings:
    out: str | None
    actions: str
    deals: int
    against: list[str]
    space: dict[str, Any]


TEXTS = ["x #y", "#y", "a=b, c (1) #2", "", " x ", "007", "1e3", "true", "a'b", "a\\", "'a' b"]
TEXTS += ["${x}", "[x", "{", "~/a;b!", "läuf, häuf", "4k", "a\nb"]


@pytest.fixture
def read_settings(tmp_path):
    """Return a function that reads settings as a command does."""
    path = tmp_path / "x.yaml"
    path.write_text("out: null\nactions: a\ndeals: 1\nagainst: []\nspace: {}\n")
    return lambda *words: compose_command_settings(path, words, Settings)


def test_text_settings_need_no_quotes(read_settings):
    before = read_settings()
    with initialize_hydra(list_option_dirs(None)):
        for text in TEXTS:
            actual = read_settings(f"out={text}", f"actions={text}")
            assert actual == {**before, "out": text, "actions": text}
            if "${" not in text:  # a run would resolve it
                typed = [f"outputs={text}", f"resume={text}"]
                composed = to_plain_dict(compose_config(typed).config)
                assert composed["outputs"] == composed["resume"] == text


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
def test_typed_values_are_parsed(read_settings, typed, value):
    assert read_settings(typed)[typed.partition("=")[0]] == value


def test_sweep_lists_texts_numbers_and_ranges():
    words = ["name=a,b", "outputs=x #1", "budget=1k,2M", "seed=range(start=1,stop=3)"]
    with initialize_hydra(list_option_dirs(None)):
        _, jobs = split_launcher_and_job_overrides(words)
        settings = [to_plain_dict(compose_config(job).config) for job in jobs]
    keys = ("name", "outputs", "budget", "seed")
    assert [tuple(job[key] for key in keys) for job in settings] == [
        (name, "x #1", budget, seed) for name in "ab" for budget in (1e3, 2e6) for seed in (1, 2)
    ]
