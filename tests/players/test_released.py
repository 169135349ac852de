"""Players that travel with the project: small, whole, and good."""

from __future__ import annotations

import pytest
from big2_tables import BIG2
from evaluations import HOLDEM, loader

from poker_rl.config.settings import Refused
from poker_rl.evaluation.matches import against
from poker_rl.players.released import RELEASED


def test_they_are_small() -> None:
    files = list(RELEASED.glob("*.pt"))
    assert files
    assert all(file.stat().st_size < 5e6 for file in files)


def test_the_one_of_big2_beats_players_who_choose_at_random_by_ten_points() -> None:
    load = loader(BIG2)
    won = against(BIG2, load("big2_ppo"), load("uniform"), "uniform", 100, 0)
    assert won.value - (won.half_width or 0) > 10


def test_they_play_no_other_game() -> None:
    with pytest.raises(Refused, match="of big2, not of this limit_holdem"):
        loader(HOLDEM)("big2_ppo")
