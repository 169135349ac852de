"""The public tree of a game of poker for two: what both seats see, boards and betting lines."""

from __future__ import annotations

from math import comb

from poker_rl.config.settings import Refused
from poker_rl.games.game import Game
from poker_rl.games.poker.game import PokerGame
from poker_rl.games.public.betting_lines import streets_of
from poker_rl.games.public.boards import Boards
from poker_rl.games.public.ranges import Ranges

MOST_ROWS = 2e9  # in all: hours


def heads_up(game: Game) -> PokerGame:
    """The same game, which has to be poker for two.

    Raises:
        Refused: if it is not.
    """
    if not isinstance(game, PokerGame) or game.seats != 2:
        raise Refused(f"{game.name} is not poker for two players, which it has to be")
    if any(game.dead_antes):
        raise Refused(f"{game.name} has antes that differ by seat; they have to be equal here")
    return game


class PublicTree:
    """Boards, betting lines and hands, whoever plays.

    Args:
        merge: whether boards and hands that differ in the names of suits alone are one.

    Raises:
        Refused: if it is another game, or has too many rows, public states times hands.
    """

    def __init__(self, game: Game, merge: bool) -> None:
        self.game = heads_up(game)
        self.streets = streets_of(game)
        self.ranges = Ranges(self.game)
        self.boards = Boards(self.game, self.ranges, merge)
        about = self._about(merge)
        if about > MOST_ROWS:
            fits = "games of fewer raises, streets or cards fit, such as flop_holdem unchanged"
            if not merge and self._about(merge=True) <= MOST_ROWS:
                fits = "players who are not shown the names of suits fit: net.features=sorted_suits"
            raise Refused(
                f"the public tree of {game.name} has about {about:.1e} public states times"
                f" hands, more than {MOST_ROWS:.0e}, the most that is walked; {fits}"
            )

    def _about(self, merge: bool) -> float:
        """A rough number of rows, known before any board is looked at."""
        rows, boards, left = 0.0, 1.0, self.game.cards
        for street, size in zip(self.streets, self.game.board_cards, strict=True):
            boards *= comb(left, size)
            left -= size
            # Of the most boards no suits are alike, so each stands for all renamings.
            alike = len(self.ranges.cards) if merge else 1
            rows += len(street.asked) * boards * comb(left, self.game.hole_cards) / alike
        return rows

    @property
    def pairs(self) -> int:
        """How many pairs of hands the two seats may be dealt."""
        cards, hole = self.game.cards, self.game.hole_cards
        return comb(cards, hole) * comb(cards - hole, hole)
