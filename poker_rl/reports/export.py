"""What `poker-rl export` does: hands and policies as files that other programs read."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from poker_rl.config.build import convert_fields
from poker_rl.config.settings import Count, Natural, Range, Refused, Seed, about
from poker_rl.evaluation.evaluation import MOST_NODES
from poker_rl.evaluation.matches import play
from poker_rl.games.game import Game
from poker_rl.games.hand import Hand, hand_of
from poker_rl.games.poker.phh import demand_phh, phh
from poker_rl.games.poker.table import FOLD
from poker_rl.games.tables import Tables
from poker_rl.games.tree import Tree, row_count, tree_of
from poker_rl.players.load import full_spec, load_player
from poker_rl.players.player import Player, policy_at
from poker_rl.reports.openspiel import action_of, infoset_name, twin
from poker_rl.storage.disk import make_room, say
from poker_rl.storage.folder import write_text
from poker_rl.training.device import prepare_device
from poker_rl.training.targets import game_and_player

MOST_HANDS = 1_000_000  # a file of about 700 MB
FORMATS = (".csv", ".json")


@dataclass(kw_only=True, frozen=True)
class Export:
    """The settings of `poker-rl export`."""

    run: str | None
    checkpoint: Natural | None
    player: str | None
    hands: Annotated[int, Range(1, MOST_HANDS)] | None
    against: str | None
    out: str | None
    policy: str | None
    overwrite: bool
    seed: Seed
    device: Literal["auto", "cpu", "cuda"]
    threads: Count


def export(given: dict[str, Any], chosen: Mapping[str, Any] | None, conf: Sequence[Path]) -> None:
    """Write the hands of a player, its policy, or both.

    Args:
        chosen: the settings of `game`, None if they are those of a run.
        conf: the folders of the options.

    Raises:
        Refused: if any setting can't be accepted; then nothing is written.
    """
    asked = Export(**convert_fields(Export, given, "", {}))
    game, spec = game_and_player(asked.run, asked.checkpoint, asked.player, chosen)
    if asked.hands is None and asked.policy is None:
        raise Refused("hands, policy: give hands=1000 out=FILE.phhs, or policy=FILE.csv, or both")
    if (asked.hands is None) != (asked.out is None):
        raise Refused("hands, out: go together; give hands=1000 out=FILE.phhs")
    if asked.against is not None and asked.hands is None:
        raise Refused("against: is of hands; give hands=1000 out=FILE.phhs too")
    if asked.hands is not None:
        with about("hands"):
            demand_phh(game)
    if asked.out is not None and not asked.out.endswith(".phhs"):
        raise Refused(f"out: {asked.out} does not end in .phhs")
    if asked.policy is not None:
        with about("policy"):
            if not asked.policy.endswith(FORMATS):
                raise Refused(f"{asked.policy} does not end in {' or '.join(FORMATS)}")
            if row_count(game, MOST_NODES) > MOST_NODES:
                raise Refused(f"{game.name} is too large for all of a policy to be written")
    device = prepare_device(asked.device, asked.threads, asked.seed)
    with about("player" if asked.run is None else "run"):
        player, name = load_player(spec, game, device, conf), full_spec(spec)
    other, others = player, name
    if asked.against is not None:
        with about("against"):
            other, others = load_player(asked.against, game, device, conf), full_spec(asked.against)
    for key in ("out", "policy"):
        if getattr(asked, key) is not None:
            with about(key):
                make_room(Path(getattr(asked, key)), asked.overwrite)
    if asked.policy is not None:
        text = csv_of if asked.policy.endswith(".csv") else json_of
        tree = tree_of(game)
        write_text(Path(asked.policy), text(tree, policy_at(game, player, tree.records)))
        theirs = twin(game)
        whose = f"OpenSpiel's {theirs}" if theirs else "this program: OpenSpiel has no such game"
        say(f"{asked.policy}: {tree.size} information sets of {name}, named as in {whose}")
    if asked.hands is not None and asked.out is not None:
        write_text(
            Path(asked.out), phhs(game, (player, other), (name, others), asked.hands, asked.seed)
        )
        say(f"{asked.out}: {asked.hands} hands of {name} against {others}")


def phhs(
    game: Game, players: tuple[Player, Player], names: tuple[str, str], count: int, seed: int
) -> str:
    """Hands as one PHH file: the first player by turns in each seat, the second elsewhere."""
    played = []
    for number, (hand, own) in enumerate(hands(game, players, count, seed), start=1):
        seats = int(game.record[hand.variant]["seats"])
        by_seat = [names[int(seat != own)] for seat in range(seats)]
        played.append(f"[{number}]\n{phh(game, hand, by_seat)}")
    return "\n".join(played)


def hands(
    game: Game, players: tuple[Player, Player], count: int, seed: int
) -> list[tuple[Hand, int]]:
    """So many hands, each of a deal of its own, and the seat of the first player in each.

    Of a duplicate match, which plays every deal in each rotation, one rotation is kept, by turns.
    """
    found: list[tuple[Hand, int]] = []

    def keep(tables: Tables, rotation: np.ndarray) -> None:
        deal = np.cumsum(rotation == 0) - 1 + len(found)  # of each table
        turn = deal % tables.definitions()["seats"]
        for record, seat in zip(
            tables.records[rotation == turn], rotation[rotation == turn], strict=True
        ):
            line = tuple(record["line"][: record["moves"]].tolist())
            found.append((hand_of(game, record, line), int(seat)))

    play(game, [players[0]] + [players[1]] * (game.seats - 1), count, seed, [keep])
    return found


def csv_of(tree: Tree, policy: np.ndarray) -> str:
    """A policy [I, A] as CSV: a row for each information set, a column for each action."""
    written = io.StringIO()
    rows = named(tree, policy)
    table = csv.writer(written, lineterminator="\n")
    actions = sorted({action for _, chances in rows for action in chances})
    table.writerow(["infoset", *(f"action_{action}" for action in actions)])
    for name, chances in rows:
        table.writerow([name, *(repr(chances.get(action, 0.0)) for action in actions)])
    return written.getvalue()


def json_of(tree: Tree, policy: np.ndarray) -> str:
    """A policy [I, A] as JSON: for each information set the chance of each legal action."""
    game = tree.game
    other = twin(game)
    whole = {
        "game": game.name,
        "open_spiel": None if other is None else {"name": other, "players": game.seats},
        "policy": {
            name: {str(action): chance for action, chance in chances.items()}
            for name, chances in named(tree, policy)
        },
    }
    return dumps(whole, indent=1) + "\n"


def named(tree: Tree, policy: np.ndarray) -> list[tuple[str, dict[int, float]]]:
    """By the name of each information set the chances of its legal actions, by their number.

    Names and numbers are OpenSpiel's, if it has the game.
    """
    other, found = twin(tree.game), []
    for record, legal, chances in zip(tree.records, tree.legal, policy, strict=True):
        numbers = np.flatnonzero(legal).tolist()
        if other is None:
            name, theirs = tree.game.infoset_name(record), numbers
        else:
            name = infoset_name(other, tree.game, record)
            theirs = [action_of(other, action, bool(legal[FOLD])) for action in numbers]
        found.append((name, dict(zip(theirs, chances[numbers].tolist(), strict=True))))
    return found
