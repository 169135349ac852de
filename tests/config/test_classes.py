"""Classes by their dotted names: those of this program alone, by their names of version 0.1 too."""

from __future__ import annotations

from importlib import import_module

import pytest

from poker_rl.config.classes import MOVED, class_of
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
