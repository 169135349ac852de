"""What `poker-rl advise` does: a position is typed in, and a player's chances there come out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poker_rl.algos.solve import equilibrium
from poker_rl.config.build import convert_fields
from poker_rl.config.messages import printable
from poker_rl.config.settings import Count, Natural, Refused, about
from poker_rl.evaluation.grid import Grid, grid_here, has_grid, plain, seat_name, text
from poker_rl.games.poker.no_limit import NoLimit
from poker_rl.games.poker.notation import (
    AnyPoker,
    Bet,
    OnePoker,
    at_table,
    bets_before,
    combinations_of,
    position,
    raises,
)
from poker_rl.games.poker.table import CALL, FOLD
from poker_rl.games.tables import Tables
from poker_rl.players.load import full_spec, load_player
from poker_rl.players.player import Player, policy_at
from poker_rl.storage.disk import make_room, say
from poker_rl.training.device import prepare_device
from poker_rl.training.targets import game_and_player

BAR = 30  # characters that a chance of 1 is long
FEW = 10  # raises, told one by one


@dataclass(kw_only=True, frozen=True)
class Settings:
    """The settings of `poker-rl advise`."""

    run: str | None
    checkpoint: Natural | None
    player: str | None
    seats: Count | None
    hand: str | None
    board: str
    actions: str
    grid: bool
    figure: str | None
    overwrite: bool
    json: bool
    device: Literal["auto", "cpu", "cuda"]
    threads: Count


@dataclass(frozen=True)
class Choice:
    """A legal action."""

    action: int
    name: str  # as the transcripts have it
    word: str  # as people call it here
    bet: Bet | None
    chance: float  # that the player gives it
    equilibrium: float | None  # that an equilibrium gives it, if one is known


@dataclass(frozen=True)
class Advice:
    """What a player does at a table."""

    game: AnyPoker
    player: str
    record: np.void
    hand: str  # as in `AsKd`, or a class such as `AKs`
    combinations: int | None  # of a class: all numbers are the mean over so many hands
    choices: tuple[Choice, ...]
    value: float | None  # chips that the player expects to win in the whole hand
    grid: Grid | None

    @property
    def _played(self) -> OnePoker:
        return at_table(self.game, int(self.record["variant"]))

    @property
    def _infoset(self) -> str:
        """The information set, of a class of hands with the class in the place of the cards."""
        seat, cards, *line = self._played.infoset_name(self.record).split(" ")
        _, bar, board = cards.partition("|")
        return " ".join([seat, f"{self.hand}{bar}{board}", *line])

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        grid = None
        if self.grid is not None:
            grid = plain(self.grid, self.game.ranks)
        return {
            "game": self.game.name,
            "player": self.player,
            "infoset": self._infoset,
            "seat": int(self.record["to_act"]),
            "hand": self.hand,
            "combinations": self.combinations,
            "actions": [
                {
                    "name": choice.name,
                    "to": choice.bet and choice.bet.to,
                    "on_street": choice.bet and choice.bet.on_street,
                    "chance": choice.chance,
                    "equilibrium": choice.equilibrium,
                }
                for choice in self.choices
            ],
            "value": self.value,
            "unit": "chips",
            "unit_chips": self.game.unit_chips,
            "grid": grid,
        }

    def text(self, colour: bool) -> str:
        """For people, painted if `colour`."""
        parts = [self._situation(), self._bars()]
        if self.value is not None:
            won = f"{self.value / self.game.unit_chips:+.2f} {self.game.unit}s"
            parts.append(f"value: {won}, what the player expects to win in the whole hand")
        parts = [printable(part) for part in parts]  # names in them may be a stranger's
        if self.grid is not None:
            parts.append(
                "What it would do here with every starting hand, suited ones above the diagonal,"
                "\noffsuit ones below: f fold, c check or call, r bet or raise, whichever it does"
                "\nmost often, and how often in per cent, if not always.\n\n"
                + text(self.grid, self.game.ranks, colour)
            )
        return "\n\n".join(parts)

    def _situation(self) -> str:
        record, played = self.record, self._played
        _, cards, line = (*self._infoset.split(" "), "")[:3]
        own, _, board = cards.partition("|")
        seat = int(record["to_act"])
        price, dead = int(record["price"]), played.dead_antes
        most = price if played.stack_of is None else played.stack_of[seat] - dead[seat]
        call = min(price, most) - int(record["paid"][seat])
        mean = f", the mean over its {self.combinations} combinations"
        words = [f"{seat_name(played, seat)} with {own}{mean * (self.combinations is not None)}"]
        words += [f"board {board}"] * bool(board)
        words.append(f"after {line}" if line else "first to act")
        pot = f"pot {int(record['paid'].sum()) + sum(dead)} chips, {call} to call"
        told = f"{self.game.name}, {self.player}\n{', '.join(words)}; {pot}"
        bets = [*bets_before(self.game, record)[0], *filter(None, (c.bet for c in self.choices))]
        later = next((bet for bet in bets if bet.to != bet.on_street), None)
        if isinstance(played, NoLimit) and later is not None:
            told += (
                "\namounts are chips put in over the whole hand, blinds and antes included:"
                f" r{later.to} is r{later.on_street}s, {later.on_street} on its street"
            )
        return told

    def _bars(self) -> str:
        bets = [choice for choice in self.choices if choice.bet is not None]
        likely = sorted(bets, key=lambda choice: -choice.chance)[:FEW]
        shown = [choice for choice in self.choices if choice.bet is None or choice in likely]
        rows = [(choice.word, choice.chance, choice.equilibrium) for choice in shown]
        if len(bets) > FEW:
            left = sum(choice.chance for choice in bets if choice not in likely)
            rows.append((f"{len(bets) - FEW} other raises", left, None))
        width = max(len(word) for word, _, _ in rows)
        solved = any(optimal is not None for _, _, optimal in rows)
        lines = [f"{'':{width}}            equilibrium"] if solved else []
        for word, chance, optimal in rows:
            beside = "" if not solved else " " * 13 if optimal is None else f"{optimal:11.1%}  "
            bar = "#" * round(BAR * chance)
            lines.append(f"{word:{width}}  {chance:6.1%}  {beside}{bar}".rstrip())
        return "\n".join(lines)


def advise(given: dict[str, Any], chosen: Mapping[str, Any] | None, conf: Sequence[Path]) -> None:
    """Print what a player does at a table, and draw it if asked for.

    Args:
        chosen: the settings of `game`, None if they are those of a run.
        conf: the folders of the options.

    Raises:
        Refused: if any setting can't be accepted.
    """
    asked = Settings(**convert_fields(Settings, given, "", {}))
    game, spec = game_and_player(asked.run, asked.checkpoint, asked.player, chosen)
    if not isinstance(game, AnyPoker):
        raise Refused(f"game: advice is given in games of poker, and {game.name} is none")
    if asked.hand is None:
        raise Refused("hand: missing; give hand=…, see poker-rl advise --help")
    records = position(game, asked.seats, asked.hand, asked.board, asked.actions)
    if asked.figure is not None:
        with about("figure"):
            if not has_grid(game):
                raise Refused(f"is of starting hands of hold'em, and {game.name} has none")
            if not asked.figure.endswith(".png"):
                raise Refused(f"{asked.figure} does not end in .png")
    device = prepare_device(asked.device, asked.threads, seed=0)
    with about("player" if asked.run is None else "run"):
        player, name = load_player(spec, game, device, conf), full_spec(spec)
    if asked.figure is not None:
        with about("figure"):
            make_room(Path(asked.figure), asked.overwrite)
    variant = at_table(game, int(records[0]["variant"]))
    of_class = asked.hand if combinations_of(variant, asked.hand) is not None else None
    grid = asked.grid or asked.figure is not None
    advice = advice_of(game, player, name, records, grid, of_class)
    shown = advice if asked.grid else replace(advice, grid=None)
    if asked.json:
        say(dumps(shown.plain(), indent=2))
    else:
        say(shown.text(sys.stdout.isatty() and "NO_COLOR" not in os.environ), painted=True)
    if asked.figure is not None and advice.grid is not None:
        from poker_rl.evaluation.drawing import save  # matplotlib takes a while to import
        from poker_rl.evaluation.figures import brief
        from poker_rl.evaluation.grids import draw

        figure = draw([[advice.grid]], f"Starting hands: {brief(name)}", game.ranks)
        save(figure, Path(asked.figure), f"{game.name}, {name}")


def advice_of(
    game: AnyPoker,
    player: Player,
    name: str,
    records: np.ndarray,
    grid: bool,
    of_class: str | None = None,
) -> Advice:
    """Return a player's advice for the seat to act at a table.

    Args:
        name: what the player is called.
        records: of the table: one, or one for each hand of a class, over which all is averaged.
        grid: also what it would do with every starting hand, if the game is hold'em.
        of_class: how that class of hands is written.
    """
    tables = Tables(game, 0, 0)
    tables.use(records)
    chances, amounts = policy_at(game, player, records).mean(0), raises(game, tables)
    solution = equilibrium(game)
    optimal = None if solution is None else solution.probabilities(records).mean(0)
    legal, seat = tables.legal()[0], int(records[0]["to_act"])
    before = int(bets_before(game, records[0])[1][seat])
    played = at_table(game, int(records[0]["variant"]))
    choices = []
    for action in np.flatnonzero(legal).tolist():
        word, bet = game.move_name(records[0], action), None
        if action == CALL and not legal[FOLD]:
            word = "check"
        elif action in amounts:
            bet = Bet(amounts[action], amounts[action] - before)
            word += f" to {bet.to}" * (word != f"raise_{bet.to}")
            if isinstance(played, NoLimit) and before:
                word += f" ({bet.on_street} on this street)"
        best = None if optimal is None else float(optimal[action])
        choices.append(
            Choice(action, game.action_name(action), word, bet, float(chances[action]), best)
        )
    values = player.values(records)
    value = None if values is None else float(values.mean())
    hands = grid_here(game, player, records[0]) if grid and has_grid(game) else None
    own = played.infoset_name(records[0]).split(" ")[1].partition("|")[0]
    count = None if of_class is None else len(records)
    return Advice(game, name, records[0], of_class or own, count, tuple(choices), value, hands)
