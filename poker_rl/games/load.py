"""Games by the names that they have in `conf/game`."""

from __future__ import annotations

from poker_rl.games.game import Game


def load_game(name: str, *overrides: str) -> Game:
    """The game that `poker-rl train game=NAME` plays, of a plug-in too.

    Args:
        overrides: settings of one's own as the command line takes them, such as `game.ante=2`.

    Raises:
        Refused: if there is no such game, or a setting can't be accepted.
    """
    # Late, so that the rules alone need no more than numpy and numba.
    from poker_rl.config.build import build_as
    from poker_rl.config.compose import composed

    settings = composed([f"game={name}", *overrides], only=["game"])
    game: Game = build_as(Game, settings["game"], "game")
    return game
