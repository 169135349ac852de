"""Lower bounds on exploitability: what somebody wins from a player, the mean over both seats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from poker_rl.evaluation.lbr import HANDS, LocalBestResponse
from poker_rl.evaluation.matches import FEWEST_DEALS, against, half_width, unit_of
from poker_rl.evaluation.measurement import Measurement
from poker_rl.evaluation.reduction import Make
from poker_rl.games.game import Game
from poker_rl.players.player import Player
from poker_rl.storage.progress import progress_bar

LOWER_BOUND, VACUOUS = "lower_bound", "lower_bound, vacuous"


@dataclass(frozen=True)
class Bound:
    """A lower bound on the exploitability of a player.

    Attributes:
        by: who wins it: `lbr`, or the name of a trained best response.
        hands: played for it.
    """

    player: str
    by: str
    hands: int
    won: Measurement


def by_local_best_response(game: Game, player: Player, name: str, deals: int, seed: int) -> Bound:
    """What the local best response wins from a player, called `name`; with a progress bar.

    Args:
        player: of one instance.
        deals: hands dealt to the responder, each of which it plays in both seats. Up to `HANDS` of
            them are on one board, but at least `FEWEST_DEALS` boards are played.

    Raises:
        Refused: if the game is not poker for two.
    """
    responder = LocalBestResponse(game, player, seed)
    each = max(1, min(HANDS, responder.most_hands, deals // FEWEST_DEALS))
    boards = -(-deals // each)
    with progress_bar(boards * each, "deals", desc=f"lbr of {name}", leave=False) as bar:
        won = responder.play(boards, each, lambda done: bar.update(done * each))
    scale, unit = unit_of(game)
    measured = Measurement(float(won.mean() * scale), half_width(won * scale), unit, LOWER_BOUND)
    return Bound(name, "lbr", 2 * each * boards, judged(measured))


def by_trained(
    game: Game,
    player: Player,
    name: str,
    responses: Mapping[str, Player],
    deals: int,
    seed: int,
    reduce: Make | None = None,
) -> Bound:
    """What the best of some trained players wins from a player, called `name`.

    Of several the one is taken that wins most, and then measured once more: the largest of several
    results is so by luck too, and another match takes no part in the choice.

    Args:
        responses: by name, at least one.
        deals: of each match.
        reduce: what takes luck out of them.
    """

    def won_by(other: str, cards: int) -> Measurement:
        return against(game, responses[other], player, name, deals, cards, reduce=reduce)

    best = next(iter(responses))
    if len(responses) > 1:
        best = max(responses, key=lambda other: won_by(other, seed).value)
        seed = int(np.random.SeedSequence([seed, 1]).generate_state(1)[0])
    won = won_by(best, seed)
    return Bound(name, best, game.seats * deals, judged(won))


def judged(won: Measurement) -> Measurement:
    """A bound as what it is: vacuous if its interval reaches 0, which is a bound for everybody."""
    return replace(won, kind=LOWER_BOUND if lower_end(won) > 0 else VACUOUS)


def lower_end(won: Measurement) -> float:
    """Of the interval."""
    return won.value - (won.half_width or 0.0)
