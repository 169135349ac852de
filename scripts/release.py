"""Make a player that travels with the project from a finished run.

    python scripts/release.py outputs/leduc/actor_critic/RUN leduc_ac

It writes the run's headline player as training left it, with the critic that it keeps, its weights
in 16 bits, to `poker_rl/released/NAME.pt`, and prints where it comes from. That stands in the file
too, under `origin`: command, experiment, seed, decisions, commit and date, so that anybody can
train it again. Beside it comes `conf/player/NAME.yaml`, unless there is one already. What is left
to do is to measure it against the run itself and against bots,

    poker-rl evaluate game=leduc player=leduc_ac against=[outputs/leduc/actor_critic/RUN,call]

and to write what came out into the first line of that YAML, which `poker-rl list player` shows, and
into docs/players.md.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import torch

from poker_rl.algos.load import CPU, build_algorithm
from poker_rl.config.build import build_as
from poker_rl.config.options import CONF
from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.players.load import PERCENTILE, PLAYER_NAME
from poker_rl.players.network import NetworkPlayer
from poker_rl.players.released import RELEASED, Released
from poker_rl.storage.checkpoint import STATE, load_state, save
from poker_rl.storage.folder import PLACE, read_folder


def released(run: Path) -> dict[str, Any]:
    """What the file of a run's headline player holds: that player alone, and its origin.

    Raises:
        Refused: if the run is not finished, or met a player whose copy it would need.
    """
    settings, manifest = read_folder(run)
    if manifest["status"] != "finished":
        raise Refused(f"{run} is {manifest['status']}; a player is released of a finished run")
    if settings.get("opponent") is not None:
        raise Refused(f"{run} was trained against {settings['opponent']}, not in self-play")
    game = build_as(Game, settings["game"], "game")
    algorithm = build_algorithm(settings, game, CPU, manifest["seed"])
    algorithm.load_state_dict(load_state(run / STATE)["algorithm"])
    name, player = next(iter(algorithm.players().items()))
    if not isinstance(player, NetworkPlayer):
        raise Refused(f"{run}: {name} is a table and no network")
    if player.instances > 1:
        raise Refused(f"{run}: {name} is {player.instances} copies; a player is released of one")
    words = shlex.split(manifest["command"])
    origin = {
        "command": shlex.join(word for word in words if word.partition("=")[0] not in PLACE),
        "experiment": settings["names"].get("experiment"),
        "seed": manifest["seed"],
        "decisions": algorithm.progress.decisions,
        "commit": manifest["commit"],
        "date": manifest["end"],
    }
    state = player.state()
    share_layers(state, settings["algo"].get("shared", 0))
    return {"game": game.state(), "players": {name: state}, "origin": origin}


def share_layers(player: dict[str, Any], count: int) -> None:
    """Have the critic begin with the player's own layers, as many as they shared in training.

    A file holds a tensor once. The player may be an average of weights over the last iterations,
    which its critic is not; so what the critic says may differ a little from what it did.
    """
    if player.get("critic") is None:  # as where rewards were discounted
        return
    for name, weight in player["weights"].items():
        if any(name.startswith(f"layers.{layer}.") for layer in range(count)):
            player["critic"]["weights"][name] = weight


def halved(tree: Any, done: dict[int, torch.Tensor] | None = None) -> Any:
    """The same tree, in which floating numbers take 16 bits; a player computes in 32 as before."""
    done = {} if done is None else done  # what stands twice in the tree still does
    if isinstance(tree, torch.Tensor):
        return done.setdefault(id(tree), tree.half() if tree.is_floating_point() else tree)
    if isinstance(tree, dict):
        return {key: halved(value, done) for key, value in tree.items()}
    return tree


def main() -> None:
    """Write the file of RUN under NAME."""
    if len(sys.argv) != 3 or not PLAYER_NAME.fullmatch(sys.argv[2]):
        sys.exit(__doc__)
    if PERCENTILE.fullmatch(sys.argv[2]):
        sys.exit(f"{sys.argv[2]}: no player can have this name, which measures use")
    try:
        tree = released(Path(sys.argv[1]))
    except Refused as error:
        sys.exit(str(error))
    path = RELEASED / f"{sys.argv[2]}.pt"
    save(path, tree | {"players": halved(tree["players"])})
    settings = CONF / "player" / f"{sys.argv[2]}.yaml"
    if not settings.exists():
        about = f"{tree['game']['name']}, by {tree['origin']['command']}: not yet measured"
        target = f"{Released.__module__}.{Released.__name__}"
        settings.write_text(f"# {about}\n_target_: {target}\nfile: {path.name}\n")
    print(f"{path}: {path.stat().st_size:,} bytes, {', '.join(tree['players'])}")
    for key, value in tree["origin"].items():
        print(f"{key:11} {value}")


if __name__ == "__main__":
    main()
