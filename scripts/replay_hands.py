"""Replay recorded hands by the rules of a game, and compare the chips won with those in the file.

    python scripts/replay_hands.py PATH game=NAME [game.KEY=VALUE …]

PATH is a file in the PHH format or a folder of such files. github.com/uoftcprg/phh-dataset has the
hands of Pluribus (Brown and Sandholm 2019), which are six-player no-limit hold'em:

    python scripts/replay_hands.py phh-dataset/data/pluribus game=nolimit_holdem_6p \\
        game.stacks=10000 game.min_bet=100 'game.blinds=[50,100,0,0,0,0]' game.unit_chips=100

Hands that do not fit the game are counted by reason. The exit code is 1 if the chips of a hand
differ, or if a file can't be read.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from poker_rl.config.build import build
from poker_rl.config.compose import compose_plain_config
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import list_option_dirs
from poker_rl.games.game import Game
from poker_rl.games.poker.phh_reader import (
    RecordedHand,
    UnsupportedHandError,
    iterate_histories,
    replay_history,
)
from poker_rl.games.poker.phh_writer import check_phh_support
from poker_rl.games.tables import tables_from_records


def compute_final_payoffs(game: Game, hand: RecordedHand) -> list[int]:
    """Play the last action of a recorded hand; return the chips that each seat has won."""
    tables = tables_from_records(game, hand.records[-1:].copy())
    tables.step(hand.actions[-1:])
    return [int(chips) for chips in tables.payoffs()[0, : len(hand.players)]]


def compute_recorded_payoffs(game: Game, hand: RecordedHand, history: Any) -> list[Fraction]:
    """Return the chips of the game that each seat has won according to PokerKit's history."""
    variant_game = check_phh_support(game).get_variant_at_table(hand.records[0])
    amount_per_chip = Fraction(max(history.blinds_or_straddles)) / max(variant_game.blinds)
    stacks = zip(history.finishing_stacks, history.starting_stacks, strict=True)
    return [(finishing - starting) / amount_per_chip for finishing, starting in stacks]


def main(arguments: Sequence[str]) -> int:
    """Replay the hands, print their number by outcome, and return the exit code."""
    if len(arguments) < 2:
        sys.exit(__doc__)
    path, *overrides = arguments
    game: Game = build(compose_plain_config(overrides, list_option_dirs(None))["game"], "game")
    counts = Counter[str]()
    for name, history in iterate_histories(Path(path)):
        try:
            hand = replay_history(game, name, history, round_amounts=False)
        except UnsupportedHandError as error:
            counts[f"left out: {error}"] += 1
            continue
        if history.finishing_stacks is None:
            counts["replayed, but the file has no chips to compare with"] += 1
            continue
        won = compute_recorded_payoffs(game, hand, history)
        if compute_final_payoffs(game, hand) != won:
            counts["different chips"] += 1
            won_there = ", ".join(map(str, won))
            print(f"{name}: {compute_final_payoffs(game, hand)} here, [{won_there}] there")
        else:
            counts["equal to the chip"] += 1
    for outcome, count in counts.most_common():
        print(f"{count:,} hands: {outcome}")
    return int("different chips" in counts)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ConfigError as error:
        sys.exit(str(error))
