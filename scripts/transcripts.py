"""Write tests/transcripts: random hands of every game, for people to read and tests to replay.

    python scripts/transcripts.py [game ...]

Only after a change of the rules that is meant; read what git then shows as changed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from poker_rl.config import CONF, build, option
from poker_rl.games.cards import card_name
from poker_rl.games.drawn_seats import DrawnSeats
from poker_rl.games.poker import Poker
from poker_rl.games.tables import Tables

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "transcripts"
HANDS = 12
WEIGHTS = np.array([1, 3, 3])  # fold, call, raise: most hands get far

HEADER = """\
# {name}: a line a decision. What the seat to act knows (seat, own cards|board, actions so far);
# chips put in by each seat; what it may do; the ones of its observation; what it does.
"""


def transcript(game: Poker | DrawnSeats, hands: int, seed: int) -> str:
    """Some random hands, each decision on a line."""
    generator = np.random.default_rng(seed)
    tables = Tables(game, 1, seed)
    lines = []
    for _ in range(hands):
        tables.deal()
        (definition,) = tables.definitions()
        deck = tables.records["deck"][0, : definition["dealt"]]
        cards = [card_name(int(card), game.ranks, game.suits) for card in deck]
        lines += ["", "hand " + " ".join(cards)]
        while not tables.records["over"][0]:
            legal = tables.legal()[0]
            action = generator.choice(len(legal), p=legal * WEIGHTS / (legal @ WEIGHTS))
            columns = [
                game.infoset_name(tables.records[0]),
                " ".join(map(str, tables.records["paid"][0, : definition["seats"]])),
                " ".join(map(game.action_name, np.flatnonzero(legal))),
                " ".join(map(str, np.flatnonzero(tables.observe()[0]))),
                game.action_name(action),
            ]
            lines.append(" | ".join(columns))
            tables.step(np.array([action]))
        lines.append("won " + " ".join(map(str, tables.payoffs()[0, : definition["seats"]])))
    return HEADER.format(name=game.name) + "\n".join(lines) + "\n"


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in (CONF / "game").glob("*.yaml"))
    for name in names:
        game = build(option("game", name), "game")
        path = FOLDER / f"{name}.txt"
        path.write_text(transcript(game, HANDS, seed=1))
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
