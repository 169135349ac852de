"""Loading of games by their names in `conf/game`."""

from __future__ import annotations

from poker_rl.games.game import Game


def load_game(name: str, *overrides: str) -> Game:
    """Return the game that `poker-rl train game=NAME` plays; a plug-in may define it.

    Args:
        overrides: settings in the syntax of the command line, such as `game.ante=2`.

    Raises:
        ConfigError: if there is no such game, or a setting is invalid.
    """
    # A local import, so that the rules can be imported with only numpy and numba.
    from poker_rl.config.build import build_instance_of
    from poker_rl.config.compose import compose_plain_config

    config = compose_plain_config([f"game={name}", *overrides], allowed_groups=["game"])
    game: Game = build_instance_of(Game, config["game"], "game")
    return game
