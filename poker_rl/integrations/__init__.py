"""Environments of the games for other libraries, and players with networks from other libraries.

`pettingzoo` has an environment in which every seat is an agent; `gymnasium` has environments in
which one seat learns against fixed players, and `sb3_vec_env` adapts them for Stable-Baselines3.
`players_from_pytorch` turns trained networks into players. `games_to_openspiel` converts games of
this program to games of OpenSpiel, and `games_from_openspiel` converts in the other direction. If
Gymnasium is installed (`pip install 'poker-rl[gym]'`), importing this package registers every game
with Gymnasium, under an id such as `poker_rl/Leduc-v0`.
"""

from collections.abc import Sequence
from importlib.util import find_spec

from poker_rl.config.option_files import list_option_dirs, list_option_files
from poker_rl.games.game import Game, load_game


def to_game(game: str | Game, overrides: Sequence[str]) -> Game:
    """Load a game by name, with overrides such as `game.ante=2`; return a `Game` unchanged."""
    return load_game(game, *overrides) if isinstance(game, str) else game


def to_env_id(game_name: str) -> str:
    """Return a game's id in Gymnasium: `poker_rl/LimitHoldem6p-v0` for `limit_holdem_6p`."""
    words = game_name.split("_")
    return f"poker_rl/{''.join(word[0].upper() + word[1:] for word in words)}-v0"


def register_gymnasium_envs() -> None:
    """Register the games of this program and of plug-ins with Gymnasium."""
    from gymnasium import register

    for folder in list_option_dirs(None):
        for path in list_option_files(folder, "game"):
            register(
                id=to_env_id(path.stem),
                entry_point="poker_rl.integrations.gymnasium:GameEnv",
                vector_entry_point="poker_rl.integrations.gymnasium:GameVectorEnv",
                kwargs={"game": path.stem},
            )


if find_spec("gymnasium") is not None:
    register_gymnasium_envs()
