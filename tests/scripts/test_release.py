"""The script that makes a released player from a run."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
import release
import torch
from commands import code, runs
from toy_games import kuhn

from poker_rl.config.validation import ConfigError
from poker_rl.games.game_tree import get_tree
from poker_rl.players.player_loader import load_player
from poker_rl.storage.checkpoint import load_snapshot

pytestmark = pytest.mark.usefixtures("here")

SHORT = ["train", "algo=ppo", "budget=2000", "evaluate_every=2000", "algo.tables=32"]


def test_a_run_becomes_its_headline_player_in_16_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert code(*SHORT, "seed=3") == 0
    (run,) = runs()
    Path("player").mkdir()
    for place in ("PRETRAINED_FOLDER", "SHIPPED_OPTION_DIR"):
        monkeypatch.setattr(release, place, Path())
    monkeypatch.setattr("sys.argv", ["release.py", str(run), "mine"])
    release.main()
    about, target, file = Path("player/mine.yaml").read_text().splitlines()
    assert about.startswith("# kuhn, by poker-rl train ")
    assert "seed=3" in about
    assert about.endswith(": not yet measured")
    assert target.endswith(": poker_rl.players.bots.pretrained.PretrainedBot")
    assert file == "file: mine.pt"
    checksum = hashlib.sha256(Path("mine.pt").read_bytes()).hexdigest()
    assert Path("SHA256SUMS").read_text() == f"{checksum}  mine.pt\n"
    tree = load_snapshot(Path("mine.pt"))
    assert list(tree["players"]) == ["weight_average"]
    weights = tree["players"]["weight_average"]["weights"].values()
    assert {weight.dtype for weight in weights} == {torch.float16}
    assert tree["origin"]["seed"] == 3
    assert tree["origin"]["decisions"] >= 2000
    game = kuhn()
    records = get_tree(game).infoset_records
    one, whole = (load_player(spec, game) for spec in ("mine.pt", str(run)))
    np.testing.assert_allclose(one.action_probs(records), whole.action_probs(records), atol=1e-3)
    worth, expected = one.state_values(records), whole.state_values(records)
    assert worth is not None
    assert expected is not None
    np.testing.assert_allclose(worth, expected, atol=1e-2)


def test_layers_that_policy_and_critic_share_are_stored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = []
    for shared in (0, 1):
        wide = [
            "net.hidden_sizes=[256,256]",
            f"algo.shared_layers={shared}",
            f"name=shared_{shared}",
        ]
        assert code(*SHORT, *wide) == 0
        tree = release.collect_released_parts(Path(f"outputs/kuhn/ppo/shared_{shared}"))
        player = release.convert_to_float16(tree["players"])["weight_average"]
        torch.save(player, "player.pt")
        sizes.append(Path("player.pt").stat().st_size)
        first, critics = (
            part["layers.1.weight"] for part in (player["weights"], player["critic"]["weights"])
        )
        assert first.data_ptr() != critics.data_ptr()
    first_layer = player["weights"]["layers.0.weight"]
    assert sizes[0] - sizes[1] == pytest.approx(2 * (first_layer.numel() + 256), abs=2000)


def test_a_player_without_a_critic_is_as_it_was() -> None:
    """Where rewards are discounted, what a critic says is no number of chips."""
    assert code(*SHORT, "algo.shared_layers=1", "algo.gamma=0.9") == 0
    (run,) = runs()
    (player,) = release.collect_released_parts(run)["players"].values()
    assert player["critic"] is None


def test_a_run_that_met_another_player_is_refused() -> None:
    assert code(*SHORT, "opponent=uniform") == 0
    (run,) = runs()
    with pytest.raises(ConfigError, match="trained against uniform, not in self-play"):
        release.collect_released_parts(run)
