"""Lookup of classes by dotted name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from poker_rl.config.plugins import Plugin, load_class
from poker_rl.config.validation import ConfigError
from poker_rl.players.tabular_player import TabularPlayer


def test_only_classes_of_this_program_are_found() -> None:
    assert load_class("poker_rl.players.tabular_player.TabularPlayer") is TabularPlayer
    functions = "poker_rl.players.player_loader.load_player", "poker_rl.nets.dense.dense"
    elsewhere = (
        "poker_rl.players.player_loader.Path",
        "poker_rl.nets.dense.nn.Module",
        "pathlib.Path",
    )
    for target in (*functions, *elsewhere, "os.system", "poker_rl", "TablePlayer", None):
        with pytest.raises(ConfigError, match="is not a class of poker_rl"):
            load_class(target)


def test_a_plugin_may_name_its_own_classes_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trusted").mkdir()
    source = "from pathlib import Path\n\n\nclass Own:\n    pass\n"
    (tmp_path / "trusted" / "__init__.py").write_text(source)
    (tmp_path / "trusted_too.py").write_text(source)
    found = [Plugin("trusted", "trusted", "1.0", tmp_path / "trusted")]
    monkeypatch.setattr("poker_rl.config.plugins.list_plugins", lambda: found)
    monkeypatch.syspath_prepend(tmp_path)
    assert load_class("trusted.Own").__module__ == "trusted"
    for target in ("trusted.Path", "trusted_too.Own", "trusted.gone.Own", "pathlib.Path"):
        with pytest.raises(
            ConfigError, match="is not a class of poker_rl or of the plug-in trusted"
        ):
            load_class(target)
    assert "trusted_too" not in sys.modules  # not even imported


def test_a_missing_optional_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stable_baselines3.common.vec_env", None)
    monkeypatch.delitem(sys.modules, "poker_rl.integrations.sb3_env", raising=False)
    with pytest.raises(ConfigError, match=r"sb3_env needs an optional package: .*stable_baselines"):
        load_class("poker_rl.integrations.sb3_env.SB3VecEnv")
