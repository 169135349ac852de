"""How many units of a player's networks tell positions apart."""

from __future__ import annotations

import alive_units
import numpy as np
import pytest
import torch
from commands import code, runs
from toy_games import kuhn

from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player_loader import load_player

pytestmark = pytest.mark.usefixtures("here")

SHORT = ["train", "algo=dqn", "net=mlp_relu", "budget=500", "evaluate_every=500"]


def test_dead_units_are_counted_and_no_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code(*SHORT) == 0
    (run,) = runs()
    player = load_player(f"{run}:greedy", kuhn())
    assert isinstance(player, NetworkPlayer)
    records = alive_units.collect_positions(kuhn())
    assert (records["over"] == 0).all()
    assert len(records) == 8000
    layers = alive_units.measure_alive_shares(player, records)
    assert all((share > 0.5).all() for share in layers)
    with torch.no_grad():
        player.module.layers[1].bias[0, 0, :16] = -1000.0  # of the first copy, 16 of 128 units
    again = alive_units.measure_alive_shares(player, records)
    np.testing.assert_array_equal(again[0], layers[0])
    assert layers[1][0] - again[1][0] == pytest.approx(16 / 128, abs=0.1)
    np.testing.assert_array_equal(again[1][1:], layers[1][1:])
    capsys.readouterr()
    monkeypatch.setattr("sys.argv", ["alive_units.py", "kuhn", f"{run}:greedy"])
    alive_units.main()
    assert capsys.readouterr().out.startswith("layer  1: ")
    monkeypatch.setattr("sys.argv", ["alive_units.py", "kuhn", "call"])
    with pytest.raises(SystemExit, match="call is no network"):
        alive_units.main()
    monkeypatch.setattr("sys.argv", ["alive_units.py", "chess", "call"])
    with pytest.raises(SystemExit, match="chess"):
        alive_units.main()
