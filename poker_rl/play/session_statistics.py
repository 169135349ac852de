"""Statistics of the person's hands in one session, and results over all sessions in a folder.

Means are those of the payoff of a hand, with the half-width of their 95 % interval (None below
`MIN_DEALS` hands). `ev_adjusted` is the mean payoff adjusted for luck by AIVAT. Hands are the lines
of a session's file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import (
    MIN_DEALS,
    compute_half_width,
    get_result_unit,
)
from poker_rl.evaluation.matches.match_statistics import compute_style
from poker_rl.games.game import Game
from poker_rl.play.live_hand import PERSON_INDEX
from poker_rl.play.session_file import SavedSession, read_session
from poker_rl.play.table_setup import shorten_names

CURVE_POINTS = 200

Hands = Sequence[Mapping[str, Any]]


def summarize_session(game: Game, hands: Hands, style_counts: np.ndarray | None) -> dict[str, Any]:
    """Return the statistics of a session as plain values.

    Args:
        style_counts: counts of the person's actions (`StyleCounter`), shape [6]; None if the game
            is not hold'em.
    """
    scale, unit = get_result_unit(game)
    results = _summarize_hands(hands, scale)
    payoffs = np.array([hand["won"][PERSON_INDEX] for hand in hands], float) * scale
    cumulative_payoffs = np.concatenate([[0.0], payoffs.cumsum()])
    points = np.linspace(0, len(hands), min(len(hands), CURVE_POINTS) + 1).round().astype(int)
    style = None
    if style_counts is not None and hands:
        all_statistics = compute_style(style_counts)
        style = {name: all_statistics[name] for name in ("vpip", "pfr", "aggression")}
    return {
        "hands": len(hands),
        "won": sum(hand["won"][PERSON_INDEX] for hand in hands),
        **results,
        "unit": unit,
        "bb_per_100": _summarize_mean(payoffs / 10) if unit == "mbb/hand" else None,
        "curve": cumulative_payoffs[points].tolist(),
        "style": style,
    }


def summarize_sessions(folder: Path) -> list[dict[str, Any]]:
    """Return a row of results for each combination of game and opponents.

    The sessions are the files in `folder/<game>`; damaged ones are left out. The unit is big blinds
    per 100 hands if the game's unit is a big blind, else the game's unit per hand.
    """
    sessions_by_table: dict[tuple[str, ...], list[SavedSession]] = {}
    for path in sorted(folder.glob("*/*.jsonl")):
        with suppress(ConfigError):
            session = read_session(path)
            key = session.table["game"]["name"], *session.table["against"]
            if session.hands:
                sessions_by_table.setdefault(key, []).append(session)
    rows = []
    for (game_name, *against), sessions in sorted(sessions_by_table.items()):
        game, short_names = sessions[0].table["game"], shorten_names(against)
        hands = [hand for session in sessions for hand in session.hands]
        scale = (100 if game["unit"] == "big blind" else 1) / game["unit_chips"]
        units = {"big blind": "bb/100", "point": "point/game"}
        rows.append(
            {
                "game": game_name,
                "against": [short_names[name] for name in against],
                "sessions": len(sessions),
                "hands": len(hands),
                "unit": units.get(game["unit"], f"{game['unit']}/hand"),
                **_summarize_hands(hands, scale),
            }
        )
    return rows


def _summarize_hands(hands: Hands, scale: float) -> dict[str, Any]:
    """Return the mean payoff, its half-width and, if known for all hands, that of AIVAT."""
    payoffs = np.array([hand["won"][PERSON_INDEX] for hand in hands], float) * scale
    adjusted = np.array([hand["ev_adjusted"] for hand in hands], float) * scale
    is_known = len(hands) > 0 and not np.isnan(adjusted).any()
    return {
        **_summarize_mean(payoffs),
        "ev_adjusted": _summarize_mean(adjusted) if is_known else None,
    }


def _summarize_mean(payoffs: np.ndarray) -> dict[str, float | None]:
    return {
        "mean": float(payoffs.mean()) if len(payoffs) else 0.0,
        "half_width": compute_half_width(payoffs) if len(payoffs) >= MIN_DEALS else None,
    }
