"""Release the player of a run: write it to a file that is part of this package.

    python scripts/add_pretrained_player.py outputs/leduc/actor_critic/RUN leduc_ac

The script writes the run's headline (first) player and its critic, with weights in float16, to
`poker_rl/pretrained/NAME.pt`, where NAME is the second argument. The file also contains the
player's origin, which is printed: command, experiment, seed, decisions, status, commit and date.
The script also updates the checksums in `poker_rl/pretrained/SHA256SUMS`, and writes
`conf/player/NAME.yaml` unless that file exists.

Afterwards evaluate the player against the run itself and against bots:

    poker-rl evaluate game=leduc player=leduc_ac against=[outputs/leduc/actor_critic/RUN,call]

Then write the results into docs/players.md and into the first line of the YAML file, which
`poker-rl list player` prints.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import torch

from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import SHIPPED_OPTION_DIR
from poker_rl.config.target_classes import load_class
from poker_rl.players.bots.pretrained_bot import PRETRAINED_FOLDER, PretrainedBot
from poker_rl.players.network_player import NetworkPlayer
from poker_rl.players.player_loader import PLAYER_NAME_PATTERN, load_game_and_player_states
from poker_rl.storage.checkpoint import find_newest_snapshot, save_atomically
from poker_rl.storage.run_files import read_config_and_manifest, read_snapshot_origin


def build_pretrained_snapshot(run: Path) -> dict[str, Any]:
    """Return the contents of the file: game, headline player of the run, and origin.

    Raises:
        ConfigError: if the run is still training, has failed or was not self-play, or if its
            headline player is not a single network.
    """
    settings, manifest = read_config_and_manifest(run)
    if manifest["status"] not in ("finished", "interrupted"):
        raise ConfigError(f"{run} is {manifest['status']}; finish or stop it first")
    if settings.get("opponents"):
        raise ConfigError(
            f"{run} was trained against {', '.join(settings['opponents'])}, not in self-play"
        )
    snapshot = find_newest_snapshot(run)
    game, players = load_game_and_player_states(snapshot)
    name, state = next(iter(players.items()))
    if load_class(state["_target_"]) is not NetworkPlayer:
        raise ConfigError(f"{run}: {name} is a table and no network")
    if state["instances"] > 1:
        raise ConfigError(
            f"{run}: {name} is {state['instances']} copies; a player is released of one"
        )
    origin = read_snapshot_origin(run, int(snapshot.stem))
    share_policy_layers_with_critic(state, settings["algo"].get("shared_layers", 0))
    return {"game": game, "players": {name: state}, "origin": origin}


def share_policy_layers_with_critic(player: dict[str, Any], count: int) -> None:
    """Replace the critic's first `count` layers by those of the policy, to make the file smaller.

    In training, policy and critic shared these layers; the file contains shared tensors only once.
    If the policy is an EMA of weights, the critic's values change a little, because the
    critic was trained with the current weights and not with the EMA.
    """
    if player.get("critic") is None:  # no critic, as after training with discounted rewards
        return
    for name, weight in player["weights"].items():
        if any(name.startswith(f"layers.{layer}.") for layer in range(count)):
            player["critic"]["weights"][name] = weight


def convert_to_float16(tree: Any, done: dict[int, torch.Tensor] | None = None) -> Any:
    """Return nested dictionaries with their floating-point tensors converted to float16.

    When the player is loaded, these tensors are converted to float32.

    Args:
        tree: the nested dictionaries, or a value in them.
        done: converted tensors by `id` of the original tensor; shared tensors thus stay shared.
    """
    done = {} if done is None else done
    if isinstance(tree, torch.Tensor):
        return done.setdefault(id(tree), tree.half() if tree.is_floating_point() else tree)
    if isinstance(tree, dict):
        return {key: convert_to_float16(value, done) for key, value in tree.items()}
    return tree


def main() -> None:
    """Write the files of the pretrained player, and print its origin."""
    if len(sys.argv) != 3 or not PLAYER_NAME_PATTERN.fullmatch(sys.argv[2]):
        sys.exit(__doc__)
    try:
        contents = build_pretrained_snapshot(Path(sys.argv[1]))
    except ConfigError as error:
        sys.exit(str(error))
    path = PRETRAINED_FOLDER / f"{sys.argv[2]}.pt"
    save_atomically(path, contents | {"players": convert_to_float16(contents["players"])})
    checksums = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(PRETRAINED_FOLDER.glob("*.pt"))
    ]
    (PRETRAINED_FOLDER / "SHA256SUMS").write_text("".join(checksums))
    settings = SHIPPED_OPTION_DIR / "player" / f"{sys.argv[2]}.yaml"
    if not settings.exists():
        text = f"{contents['game']['name']}, by {contents['origin']['command']}: not yet measured"
        target = f"{PretrainedBot.__module__}.{PretrainedBot.__name__}"
        settings.write_text(f"# {text}\n_target_: {target}\nfile: {path.name}\n")
    print(f"{path}: {path.stat().st_size:,} bytes, {', '.join(contents['players'])}")
    for key, value in contents["origin"].items():
        print(f"{key:11} {value}")


if __name__ == "__main__":
    main()
