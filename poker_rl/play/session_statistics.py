"""Statistics of a session: winnings of each player and the playing style of the human player."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log10
from typing import Any

import numpy as np

from poker_rl.evaluation.matches.duplicate_match import (
    MIN_DEALS,
    compute_half_width,
    get_result_unit,
)
from poker_rl.evaluation.matches.playing_style import StyleCounter, compute_style, is_holdem
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.play.live_hand import PERSON_INDEX

CURVE_POINTS = 200


class SessionStatistics:
    """Statistics over the finished hands of one session, updated after each hand."""

    def __init__(self, game: Game, player_names: Sequence[str]) -> None:
        self._game, self._player_names = game, player_names
        self._scale, self._unit = get_result_unit(game)
        self._payoffs: list[list[int]] = []  # chips won, shape [hands, players]
        self._luck_adjusted_payoffs: list[float | None] = []  # chips of the human player, by hand
        self._took_part: list[list[bool]] = []  # who was dealt in, shape [hands, players]
        self._style_counter = StyleCounter() if is_holdem(game) else None

    def add_hand(
        self,
        record: np.ndarray,
        player_of_seat: Sequence[int],
        payoffs: Sequence[int],
        luck_adjusted_payoff: float | None,
    ) -> None:
        """Count a finished hand.

        Args:
            record: the table at the end of the hand, shape [1].
            player_of_seat: player index of each seat.
            payoffs: chips won, by player index.
            luck_adjusted_payoff: payoff of the human player in chips, adjusted for luck by AIVAT;
                None if unknown.
        """
        self._payoffs.append(list(payoffs))
        self._luck_adjusted_payoffs.append(luck_adjusted_payoff)
        self._took_part.append([player in player_of_seat for player in range(self._game.seats)])
        if self._style_counter is not None:
            tables = Tables(self._game, 0, 0)
            tables.load_records(record)
            self._style_counter.add_hands(tables, np.array([player_of_seat.index(PERSON_INDEX)]))

    def summarize(self, abandoned_hands: int) -> dict[str, Any]:
        """Return all statistics as plain values.

        Means are per hand, with the half-width of their 95 % interval (None below `MIN_DEALS`
        hands). `more_hands` is an estimate of how many more hands make the half-width as small as
        `goal`. `curve` is the human player's cumulative payoff at evenly spaced hands.
        `ev_adjusted` is the mean payoff adjusted for luck by AIVAT.

        Args:
            abandoned_hands: number of hands that were dealt but not finished.
        """
        scaled_payoffs = np.array(self._payoffs, float).reshape(-1, self._game.seats) * self._scale
        took_part = np.array(self._took_part, bool).reshape(scaled_payoffs.shape)
        person_payoffs = scaled_payoffs[:, PERSON_INDEX]
        goal_half_width, more_hands = _estimate_more_hands(person_payoffs)
        cumulative_payoffs = np.concatenate([[0.0], person_payoffs.cumsum()])
        curve_indices = (
            np.linspace(0, len(person_payoffs), min(len(person_payoffs), CURVE_POINTS) + 1)
            .round()
            .astype(int)
        )
        return {
            "hands": len(person_payoffs),
            "abandoned": abandoned_hands,
            "won": sum(chips[PERSON_INDEX] for chips in self._payoffs),
            **summarize_mean(person_payoffs),
            "unit": self._unit,
            "bb_per_100": self._summarize_bb_per_100(person_payoffs),
            "ev_adjusted": self._summarize_luck_adjusted(),
            "goal": goal_half_width,
            "more_hands": more_hands,
            "curve": cumulative_payoffs[curve_indices].tolist(),
            "style": self._summarize_style(),
            "opponents": [
                {
                    "name": name,
                    "hands": int(took_part[:, player_index].sum()),
                    **summarize_mean(scaled_payoffs[took_part[:, player_index], player_index]),
                }
                for player_index, name in enumerate(self._player_names)
                if player_index != PERSON_INDEX
            ],
            "places": self._count_finishing_ranks(scaled_payoffs),
        }

    def _summarize_bb_per_100(self, payoffs: np.ndarray) -> dict[str, float | None] | None:
        """Return the mean payoff in big blinds per 100 hands; None in games without blinds."""
        return summarize_mean(payoffs / 10) if self._unit == "mbb/hand" else None

    def _summarize_luck_adjusted(self) -> dict[str, float | None] | None:
        known_payoffs = [chips for chips in self._luck_adjusted_payoffs if chips is not None]
        if not known_payoffs or len(known_payoffs) < len(self._luck_adjusted_payoffs):
            return None
        return summarize_mean(np.array(known_payoffs) * self._scale)

    def _summarize_style(self) -> dict[str, float | None] | None:
        if self._style_counter is None or not self._payoffs:
            return None
        style = compute_style(self._style_counter.counts[0])
        return {name: style[name] for name in ("vpip", "pfr", "aggression")}

    def _count_finishing_ranks(self, scaled_payoffs: np.ndarray) -> list[int] | None:
        """Count how often the human player came first, second and so on.

        The result is None for two players and for poker, whose single hands have no ranking.
        """
        if self._game.hand_noun != "game" or self._game.seats == 2:
            return None
        players_ahead = (scaled_payoffs > scaled_payoffs[:, [PERSON_INDEX]]).sum(1)
        return [
            int((players_ahead == finishing_rank).sum())
            for finishing_rank in range(self._game.seats)
        ]


def summarize_mean(payoffs: np.ndarray) -> dict[str, float | None]:
    """Return the mean of payoffs, shape [hands], and the half-width of its 95 % interval.

    The half-width is None for fewer than `MIN_DEALS` hands.
    """
    return {
        "mean": float(payoffs.mean()) if len(payoffs) else 0.0,
        "half_width": compute_half_width(payoffs) if len(payoffs) >= MIN_DEALS else None,
    }


def _estimate_more_hands(payoffs: np.ndarray) -> tuple[float | None, int | None]:
    """Return a goal for the half-width of the mean's interval, and how many more hands reach it.

    The goal is a power of ten near a tenth of the standard deviation. Both numbers are None for
    fewer than `MIN_DEALS` hands.
    """
    if len(payoffs) < MIN_DEALS or not payoffs.std():
        return None, None
    goal_half_width = 10.0 ** (round(log10(payoffs.std(ddof=1))) - 1)
    return goal_half_width, max(
        0, ceil(len(payoffs) * ((compute_half_width(payoffs) / goal_half_width) ** 2 - 1))
    )
