"""Sample hands of a player against itself, move by move."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poker_rl.games.game import Game
from poker_rl.games.tables import Tables
from poker_rl.players.action_sampling import sample_from_probs
from poker_rl.players.player import Player, compute_checked_probs

HEADINGS = ["seat", "information set", "action", "probability"]


def play_sample_hands(
    game: Game, player: Player, hand_count: int, seed: int
) -> Iterator[tuple[list[list[str]], str]]:
    """Yield for each hand the headings and a row for each move, and a line with the payoffs."""
    generator, tables = np.random.default_rng(seed), Tables(game, 1, seed)
    for _ in range(hand_count):
        tables.deal()
        rows = [HEADINGS]
        while not tables.records["over"][0]:
            record, probs = tables.records[0], compute_checked_probs(game, player, tables.records)
            action = sample_from_probs(probs, generator.random(1))
            seat, _, known_text = game.infoset_name(record).partition(" ")
            move_name = game.move_name(record, int(action[0]))
            rows.append([seat, known_text, move_name, f"{100 * probs[0, action[0]]:.0f} %"])
            tables.step(action)
        seat_count = int(tables.gather_definitions()["seats"][0])
        payoffs = tables.payoffs()[0, :seat_count] / game.unit_chips
        payoff_texts = ", ".join(f"seat {seat} {chips:+g}" for seat, chips in enumerate(payoffs))
        yield rows, f"Won, in {game.unit}s: {payoff_texts}."
