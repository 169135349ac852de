"""Results of the person over all sessions in a folder, by game and opponents."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.untrusted_files import open_regular_file
from poker_rl.config.validation import ConfigError
from poker_rl.play.live_hand import PERSON_INDEX, shorten_names
from poker_rl.play.session_journal import MAX_JOURNAL_BYTES
from poker_rl.play.session_statistics import summarize_mean


def read_session_file(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the table and the finished hands in a session's file, without replaying the hands.

    Raises:
        ConfigError: if the file is not that of a session.
    """
    with open_regular_file(path, MAX_JOURNAL_BYTES) as file:
        data = file.read()
    try:
        lines = [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]
        table = lines[0]["table"]
        hands = [line for line in lines[1:] if "hand" in line]
        names = [table["game"]["name"], table["game"]["unit"], *table["against"]]
        chips = [hand["won"][PERSON_INDEX] / table["game"]["unit_chips"] for hand in hands]
        chips += [hand["ev_adjusted"] or 0.0 for hand in hands]
        if not all(isinstance(name, str) for name in names) or not np.isfinite(chips).all():
            raise ValueError
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError):
        raise ConfigError(f"{path} is not a file of a session") from None
    return table, hands


def summarize_sessions(folder: Path) -> list[dict[str, Any]]:
    """Return a row of results for each combination of game and opponents.

    The sessions are the files in `folder/<game>`; damaged ones are left out. Mean payoffs, with the
    half-width of their 95 % interval, are in big blinds per 100 hands if the game's unit is a big
    blind, else in the game's unit per hand.
    """
    sessions_by_table: dict[tuple[str, ...], list[tuple[dict[str, Any], list[Any]]]] = {}
    for path in sorted(folder.glob("*/*.jsonl")):
        with suppress(ConfigError, OSError):
            table, hands = read_session_file(path)
            key = table["game"]["name"], *table["against"]
            if hands:
                sessions_by_table.setdefault(key, []).append((table, hands))
    rows = []
    for (game_name, *against), sessions in sorted(sessions_by_table.items()):
        hands = [hand for _, session_hands in sessions for hand in session_hands]
        game, short_names = sessions[0][0]["game"], shorten_names(against)
        is_big_blind = game["unit"] == "big blind"
        units = {"big blind": "bb/100", "point": "point/game"}
        scale = (100 if is_big_blind else 1) / game["unit_chips"]
        payoffs = np.array([hand["won"][PERSON_INDEX] for hand in hands]) * scale
        adjusted = np.array([hand["ev_adjusted"] for hand in hands], float) * scale
        rows.append(
            {
                "game": game_name,
                "against": [short_names[name] for name in against],
                "sessions": len(sessions),
                "hands": len(hands),
                "unit": units.get(game["unit"], f"{game['unit']}/hand"),
                **summarize_mean(payoffs),
                "ev_adjusted": None if np.isnan(adjusted).any() else summarize_mean(adjusted),
            }
        )
    return rows
