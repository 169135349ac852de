"""Environments for other libraries of reinforcement learning, and players trained by them.

`pettingzoo.env` is a PettingZoo environment in which every seat is an agent; `gymnasium` has
environments of one seat against fixed players, and `sb3_env` makes them usable for
Stable-Baselines3. `sb3_player` and `mlp_player` turn trained networks into players. Importing this
package registers an id of Gymnasium for every game, such as `poker_rl/Leduc-v0`, if Gymnasium is
installed (`pip install 'poker-rl[gym]'`).
"""

from importlib.util import find_spec

from poker_rl.config.option_files import list_option_dirs, list_option_files


def to_env_id(game_name: str) -> str:
    """Return the id of a game's environments: `poker_rl/LimitHoldem6p-v0` of limit_holdem_6p."""
    words = game_name.split("_")
    return f"poker_rl/{''.join(word[0].upper() + word[1:] for word in words)}-v0"


def register_games() -> None:
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
    register_games()
