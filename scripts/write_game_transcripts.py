"""Write tests/games/transcripts: random hands, for people to read and tests to replay.

    python scripts/write_game_transcripts.py [game ...]

Run it only after an intended change of the rules, and check the changes with git.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from poker_rl.config.build import build
from poker_rl.config.input_checks import ConfigError
from poker_rl.config.option_files import SHIPPED_OPTION_DIR, load_option
from poker_rl.games.cards import card_name
from poker_rl.games.game import Game
from poker_rl.games.poker.table_dtypes import NO_LIMIT_TABLE_DTYPE, RAISE
from poker_rl.games.tables import Tables

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "games" / "transcripts"
MAX_HANDS, MAX_LINES = 12, 500
MAX_LISTED_RAISES = 5

# Texts for the header. A key is the field of table records that each line shows. The first text
# says what follows the own cards in the name of an infoset, the second what the field counts.
HEADER_TEXTS = {
    "paid": ("board, actions so far", "chips put in by each seat"),
    "left": ("hand to beat|cards the others have left", "cards left in each hand"),
}
HEADER = """\
# {name}: a line a decision. What the seat to act knows (seat, own cards|{known});
# {counted}; what it may do; the ones of its observation; what it does.
"""


def create_transcript(game: Game, max_hands: int, max_lines: int, seed: int) -> str:
    """Return a transcript of random hands, with one line for each decision.

    Args:
        game: the game to play.
        max_hands: largest number of hands.
        max_lines: number of lines after which no further hand is dealt.
        seed: seed of the cards and actions.
    """
    generator = np.random.default_rng(seed)
    tables = Tables(game, 1, seed)
    (shown_field,) = HEADER_TEXTS.keys() & set(game.table_dtype.names or ())
    # Folds are rare, so that most hands reach a showdown.
    weights = np.array(
        [1.0 if game.action_name(a) == "fold" else 3.0 for a in range(game.action_count)]
    )
    if game.table_dtype is NO_LIMIT_TABLE_DTYPE:
        weights[RAISE:] /= np.arange(1, game.action_count - 1)  # prefer small raises
    lines: list[str] = []
    for _ in range(max_hands):
        if len(lines) > max_lines:
            break
        tables.deal()
        (definition,) = tables.gather_definitions()
        deck = tables.records["deck"][0, : definition["dealt"]]
        cards = [card_name(int(card), game.ranks, game.suits) for card in deck]
        lines += ["", "hand " + " ".join(cards)]
        while not tables.records["over"][0]:
            record = tables.records[0]
            legal = tables.legal_mask()[0]
            action = generator.choice(len(legal), p=legal * weights / (legal @ weights))
            columns = [
                game.infoset_name(record),
                " ".join(map(str, record[shown_field][: definition["seats"]])),
                format_legal_moves([game.move_name(record, int(a)) for a in np.flatnonzero(legal)]),
                " ".join(map(str, np.flatnonzero(tables.observe()[0]))),
                game.move_name(record, action),
            ]
            lines.append(" | ".join(columns))
            tables.step(np.array([action]))
        lines.append("won " + " ".join(map(str, tables.payoffs()[0, : definition["seats"]])))
    known, counted = HEADER_TEXTS[shown_field]
    return HEADER.format(name=game.name, known=known, counted=counted) + "\n".join(lines) + "\n"


def format_legal_moves(names: list[str]) -> str:
    """Return the names of legal moves as text, with many raises as in `call raise_4..raise_40`."""
    raises = [name for name in names if name.startswith("raise_")]
    if len(raises) > MAX_LISTED_RAISES:
        names = [name for name in names if name not in raises] + [f"{raises[0]}..{raises[-1]}"]
    return " ".join(names)


def main() -> None:
    names = sys.argv[1:] or sorted(
        path.stem for path in (SHIPPED_OPTION_DIR / "game").glob("*.yaml")
    )
    for name in names:
        try:
            game = build(load_option("game", name), "game")
        except ConfigError as error:
            sys.exit(f"write_game_transcripts.py: {error}")
        path = FOLDER / f"{name}.txt"
        path.write_text(create_transcript(game, MAX_HANDS, MAX_LINES, seed=1))
        print(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


if __name__ == "__main__":
    main()
