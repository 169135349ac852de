"""Classes by their dotted names: those of this program alone, by their names of version 0.1 too."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from poker_rl.config.classes import MOVED, class_of
from poker_rl.config.plugins import Plugin
from poker_rl.config.settings import Refused
from poker_rl.games.poker.limit import Poker
from poker_rl.learning.average import AverageSettings
from poker_rl.nets.dense import MLP
from poker_rl.players.table import TablePlayer


def test_only_classes_of_this_program_are_named() -> None:
    assert class_of("poker_rl.players.table.TablePlayer") is TablePlayer
    functions = "poker_rl.players.load.load_player", "poker_rl.nets.dense.dense"
    elsewhere = "poker_rl.players.load.Path", "poker_rl.nets.dense.nn.Module", "pathlib.Path"
    for target in (*functions, *elsewhere, "os.system", "poker_rl", "TablePlayer", None):
        with pytest.raises(Refused, match="is not a class of poker_rl"):
            class_of(target)


def test_files_of_an_earlier_version_name_classes_where_they_were() -> None:
    assert class_of("poker_rl.nets.MLP") is MLP
    assert class_of("poker_rl.games.poker.Poker") is Poker
    assert class_of("poker_rl.average.AverageSettings") is AverageSettings
    for module in MOVED.values():
        import_module(module)


def test_a_plugin_may_name_its_own_classes_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trusted").mkdir()
    source = "from pathlib import Path\n\n\nclass Own:\n    pass\n"
    (tmp_path / "trusted" / "__init__.py").write_text(source)
    (tmp_path / "trusted_too.py").write_text(source)
    found = [Plugin("trusted", "trusted", "1.0", tmp_path / "trusted")]
    monkeypatch.setattr("poker_rl.config.classes.plugins", lambda: found)
    monkeypatch.syspath_prepend(tmp_path)
    assert class_of("trusted.Own").__module__ == "trusted"
    for target in ("trusted.Path", "trusted_too.Own", "trusted.gone.Own", "pathlib.Path"):
        with pytest.raises(Refused, match="is not a class of poker_rl or of the plug-in trusted"):
            class_of(target)
    assert "trusted_too" not in sys.modules  # not even imported
