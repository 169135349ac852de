"""The public tree of heads-up poker: the boards and betting lines, which both seats see."""

from __future__ import annotations

from math import comb

from poker_rl.config.validation import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.public.betting_lines import build_streets
from poker_rl.games.public.boards import Boards
from poker_rl.games.public.ranges import Ranges

MAX_ROWS = 2e9  # a pass over this many rows takes hours


def check_heads_up(game: Game) -> PokerGame:
    """Return the game, or raise ConfigError unless it is heads-up poker with equal antes."""
    if not isinstance(game, PokerGame) or game.seats != 2:
        raise ConfigError(f"{game.name} is not poker for two players, which it has to be")
    if any(game.dead_antes):
        raise ConfigError(f"{game.name} has antes that differ by seat; they have to be equal here")
    return game


class PublicTree:
    """The boards, betting lines and hands of a game of heads-up poker.

    With `merge_suits`, boards and hands that differ only in the names of suits are merged.
    """

    def __init__(self, game: Game, merge_suits: bool) -> None:
        self.game = check_heads_up(game)
        self.streets = build_streets(game)
        self.ranges = Ranges(self.game)
        self.boards = Boards(self.game, self.ranges, merge_suits)
        estimated_rows = self._estimate_rows(merge_suits)
        if estimated_rows > MAX_ROWS:
            advice = "games of fewer raises, streets or cards fit, such as flop_holdem unchanged"
            if not merge_suits and self._estimate_rows(merge_suits=True) <= MAX_ROWS:
                advice = "players that do not see the names of suits fit: net.features=sorted_suits"
            raise ConfigError(
                f"the public tree of {game.name} has about {estimated_rows:.1e} public states times"
                f" hands, more than {MAX_ROWS:.0e}, the most that is evaluated; {advice}"
            )

    def _estimate_rows(self, merge_suits: bool) -> float:
        """Estimate the number of rows without building the boards."""
        rows, board_count, remaining_cards = 0.0, 1.0, self.game.deck_size
        for street, new_card_count in zip(self.streets, self.game.board_cards, strict=True):
            board_count *= comb(remaining_cards, new_card_count)
            remaining_cards -= new_card_count
            # Few boards have interchangeable suits; the others represent all permutations.
            merged_boards = len(self.ranges.permuted_cards) if merge_suits else 1
            rows += (
                len(street.decision_lines)
                * board_count
                * comb(remaining_cards, self.game.hole_cards)
                / merged_boards
            )
        return rows

    @property
    def hand_pair_count(self) -> int:
        """Number of pairs of hands that the two seats may be dealt."""
        cards, hole = self.game.deck_size, self.game.hole_cards
        return comb(cards, hole) * comb(cards - hole, hole)
