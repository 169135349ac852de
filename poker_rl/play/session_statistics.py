"""Statistics of the hands of one session, and of all sessions saved in a folder.

Both contain mean payoffs of the human player, with the half-width of their 95 % confidence interval
(None below `MIN_DEALS` hands). Those of a session of hold'em also contain VPIP, PFR and aggression.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.matches.duplicate_match import MIN_DEALS, compute_half_width
from poker_rl.evaluation.matches.winnings_and_playing_style import compute_style_statistics
from poker_rl.evaluation.result import format_number, get_result_scale_and_unit
from poker_rl.games.game import Game
from poker_rl.play.live_hand import PERSON_INDEX
from poker_rl.play.session_file import Hands, SavedSession, read_session
from poker_rl.play.table_setup import format_player_counts

CURVE_POINTS = 200
MEANINGS = {
    "mbb/hand": "thousandths of a big blind won a hand, with the 95 % interval",
    "bb/100": "big blinds won in 100 hands, with the 95 % interval",
    "EV-adjusted": "the mean without most of the luck of cards and opponents, by AIVAT",
    "VPIP": "how often you put chips into the pot before the flop, blinds not counted",
    "PFR": "how often you raise before the flop",
    "Aggression": "your bets and raises divided by your calls",
}


def summarize_session(game: Game, hands: Hands, style_counts: np.ndarray | None) -> dict[str, Any]:
    """Return the statistics of a session as plain values for JSON.

    `rows` in the result has the name, text and explanation of each displayed statistic, and `curve`
    the cumulative winnings after evenly spaced numbers of hands. `style_counts` are the counts of
    the person's actions in a `StyleCounter`, shape [6]; None if the game is not hold'em.
    """
    scale, unit = get_result_scale_and_unit(game)
    payoffs = np.array([hand["won"][PERSON_INDEX] for hand in hands])
    hand_counts = np.linspace(0, len(hands), min(len(hands), CURVE_POINTS) + 1).round().astype(int)
    means = _compute_payoff_means(hands, scale)
    texts = {
        f"{game.hand_noun.capitalize()}s": f"{len(hands):,}",
        "Points" if game.unit == "point" else "Chips": f"{payoffs.sum():+,.0f}",
        unit: means["text"],
    }
    if means["ev_adjusted"]:
        texts["EV-adjusted"] = means["ev_adjusted"]["text"]
    if unit == "mbb/hand":
        texts["bb/100"] = _compute_mean_and_interval(payoffs * scale / 10)["text"]
    if style_counts is not None and hands:
        style = compute_style_statistics(style_counts)
        texts |= {"VPIP": f"{style['vpip']:.0%}", "PFR": f"{style['pfr']:.0%}"}
        if (aggression := style["aggression"]) is not None:
            texts["Aggression"] = f"{aggression:.1f}"
    return {
        "hands": len(hands),
        "won": int(payoffs.sum()),
        **means,
        "unit": unit,
        "curve": np.concatenate([[0.0], (payoffs * scale).cumsum()])[hand_counts].tolist(),
        "rows": [(name, text, MEANINGS.get(name, "")) for name, text in texts.items()],
    }


def summarize_sessions_by_table(folder: Path) -> list[dict[str, Any]]:
    """Return the results of all sessions, one row for each combination of game and opponents.

    The sessions are the files in `folder/<game>`; damaged files and those without a finished hand
    are left out. Games of one name with different rules have a row each. The unit is big blinds per
    100 hands if the game's unit is a big blind, else the game's unit per hand.
    """
    sessions_by_table: dict[tuple[str, ...], list[SavedSession]] = {}
    for path in sorted(folder.glob("*/*.jsonl")):
        with suppress(ConfigError):
            session = read_session(path)
            game = session.table["game"]
            key = game["name"], json.dumps(game, sort_keys=True), *session.table["against"]
            if session.hands:
                sessions_by_table.setdefault(key, []).append(session)
    rows = []
    for (game_name, _, *against), sessions in sorted(sessions_by_table.items()):
        game = sessions[0].table["game"]
        hands = [hand for session in sessions for hand in session.hands]
        scale = (100 if game["unit"] == "big blind" else 1) / game["unit_chips"]
        units = {"big blind": "bb/100", "point": "point/game"}
        rows.append(
            {
                "game": game_name,
                "against": format_player_counts(against),
                "sessions": len(sessions),
                "hands": len(hands),
                "unit": units.get(game["unit"], f"{game['unit']}/hand"),
                **_compute_payoff_means(hands, scale),
            }
        )
    return rows


def _compute_payoff_means(hands: Hands, scale: float) -> dict[str, Any]:
    """Return the mean and the half-width of the payoffs times `scale`, and both as text.

    `ev_adjusted` has the same of the luck-adjusted payoffs; None unless known for all hands.
    """
    payoffs = np.array([hand["won"][PERSON_INDEX] for hand in hands], float) * scale
    adjusted = np.array([hand["ev_adjusted"] for hand in hands], float) * scale
    is_known = len(hands) > 0 and not np.isnan(adjusted).any()
    return {
        **_compute_mean_and_interval(payoffs),
        "ev_adjusted": _compute_mean_and_interval(adjusted) if is_known else None,
    }


def _compute_mean_and_interval(payoffs: np.ndarray) -> dict[str, Any]:
    """Return the mean of payoffs, the half-width of its confidence interval, and both as text."""
    mean = float(payoffs.mean()) if len(payoffs) else 0.0
    half_width = compute_half_width(payoffs) if len(payoffs) >= MIN_DEALS else None
    text = format_signed(mean, half_width) if len(payoffs) else "-"
    return {"mean": mean, "half_width": half_width, "text": text}


def format_signed(value: float, half_width: float | None = None) -> str:
    """Return a number with its sign and, if known, the half-width of its interval."""
    if half_width is not None:
        return "+" * (value > 0) + format_number(value, half_width)
    return f"{value:+,.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"
