"""Other deals of a table in the same information set of a seat."""

import numpy as np

from poker_rl.games.tables import tables_from_records


def sample_same_infoset_deals(played, record, seat, count):
    """Return copies of a table with other deals in the same information set of the seat.

    The cards that the seat does not see are permuted as far as the rules of the game allow.
    """
    infoset_key = get_infoset_key(played, record, seat)
    tables = tables_from_records(played, np.array([record] * count))
    generator = np.random.default_rng(0)
    names = played.table_dtype.names or ()
    for i, row in enumerate(tables.records):
        if "hand" in names and "turn" in names:  # Big 2: permute other hands
            others = [s for s in range(4) if s != seat]
            left = [int(row["left"][s]) for s in others]
            cards = generator.permutation(
                np.concatenate([row["hand"][s, :n] for s, n in zip(others, left, strict=True)])
            )
            for s, part in zip(others, np.split(cards, np.cumsum(left)[:-1]), strict=True):
                row["hand"][s, : len(part)] = np.sort(part)
            row["deck"] = generator.permutation(52)
        else:
            definition = played.variant_games[int(record["variant"])]
            first = seat * definition.hole_cards
            board = definition.seats * definition.hole_cards
            shown = board + sum(definition.board_cards[: int(record["street"]) + 1])
            own = range(first, first + definition.hole_cards)
            fixed = [int(row["deck"][slot]) for slot in [*own, *range(board, shown)]]
            rest = generator.permutation([c for c in range(definition.deck_size) if c not in fixed])
            free = [slot for slot in range(definition.deck_size) if slot not in own]
            free = [slot for slot in free if not board <= slot < shown]
            row["deck"][free] = rest
        row["key"], row["draws"] = generator.integers(2**60), i
        assert get_infoset_key(played, row, seat) == infoset_key
    return list(tables.records)


def get_infoset_key(played, record, seat):
    """Return the key of the seat's information set, even if another seat is to act."""
    tables = tables_from_records(played, np.array([record]))
    tables.records["to_act"] = seat
    return tables.infoset_keys()[0]
