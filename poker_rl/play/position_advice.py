"""`poker-rl advise`: print a player's policy at a position given by cards and actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from json import dumps
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poker_rl.algos.tabular.equilibrium_solver import compute_equilibrium
from poker_rl.config.validation import ConfigError, NonNegativeInt, PositiveInt, error_prefix
from poker_rl.evaluation.starting_hand_grid import (
    StartingHandGrid,
    compute_hand_grid_of_table,
    describe_seat,
    format_grid,
    grid_to_json,
    supports_hand_grid,
)
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.position_notation import (
    Bet,
    format_actions,
    list_bets,
    list_hand_combinations,
    map_raises_to_chips,
    parse_position,
)
from poker_rl.games.tables import tables_from_records
from poker_rl.play.move_groups import MoveGroup, format_units, group_moves
from poker_rl.players.player import Player, compute_checked_probs
from poker_rl.players.player_loader import load_player, resolve_spec
from poker_rl.storage.console import escape_control_characters, print_line
from poker_rl.storage.disk import prepare_output_file
from poker_rl.training.device import prepare_process
from poker_rl.training.run_config import resolve_game_and_player

FULL_BAR_WIDTH = 30  # length of the bar of a probability of 1, in characters


@dataclass(kw_only=True, frozen=True)
class AdviseConfig:
    """Settings of `poker-rl advise`."""

    run: str | None
    checkpoint: NonNegativeInt | None
    player: str | None
    seats: PositiveInt | None
    hand: str | None
    board: str
    actions: str
    hand_grid: bool
    figure: str | None
    overwrite: bool
    json: bool
    device: Literal["auto", "cpu", "cuda"]
    threads: PositiveInt


@dataclass(frozen=True)
class PositionAdvice:
    """Player's policy and expected payoff at one position, for the seat to act."""

    game: DisplayedPoker
    player_name: str
    record: np.void
    combination_count: int | None  # number of hands in a class of hands; None for hole cards
    hand_text: str  # hole cards such as `AsKd`, or a class of hands such as `AKs`
    probs: np.ndarray  # shape [actions]
    equilibrium_probs: np.ndarray | None  # shape [actions]; None if no equilibrium is known
    values: np.ndarray  # payoff of the hand in chips after each action; NaN if unknown
    expected_payoff: float | None  # of the whole hand, in chips
    hand_grid: StartingHandGrid | None

    @property
    def _variant_game(self) -> PokerGame:
        return self.game.get_variant_game(self.record)

    @property
    def _infoset_name(self) -> str:
        """Name of the information set, with `hand_text` as the hole cards."""
        seat, cards_text, *action_texts = self._variant_game.infoset_name(self.record).split(" ")
        _, separator, board_text = cards_text.partition("|")
        return " ".join([seat, f"{self.hand_text}{separator}{board_text}", *action_texts])

    @cached_property
    def bets(self) -> dict[int, Bet]:
        """Amounts of each legal bet or raise, keyed by action."""
        tables = tables_from_records(self.game, np.array([self.record]))
        before_street = int(list_bets(self.game, self.record)[1][self.record["to_act"]])
        targets = map_raises_to_chips(self.game, tables)
        return {action: Bet(to, to - before_street) for action, to in targets.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain values for JSON."""
        tables = tables_from_records(self.game, np.array([self.record]))
        actions = []
        for action in np.flatnonzero(tables.legal_mask()[0]).tolist():
            bet, equilibrium_probs = self.bets.get(action), self.equilibrium_probs
            value = self.values[action]
            actions.append(
                {
                    "name": self.game.action_name(action),
                    "to": bet and bet.to,
                    "on_street": bet and bet.on_street,
                    "prob": float(self.probs[action]),
                    "equilibrium": None
                    if equilibrium_probs is None
                    else float(equilibrium_probs[action]),
                    "value": None if np.isnan(value) else float(value),
                }
            )
        grid = self.hand_grid
        return {
            "game": self.game.name,
            "player": self.player_name,
            "infoset": self._infoset_name,
            "seat": int(self.record["to_act"]),
            "hand": self.hand_text,
            "combinations": self.combination_count,
            "actions": actions,
            "value": self.expected_payoff,
            "unit": "chips",
            "unit_chips": self.game.unit_chips,
            "grid": None if grid is None else grid_to_json(grid, self.game.ranks),
        }

    def format_text(self, use_color: bool) -> str:
        """Return the advice as text; the hand grid has ANSI colors if `use_color`."""
        parts = [self._describe_situation(), self._format_prob_bars()]
        if self.expected_payoff is not None:
            payoff_text = f"{self.expected_payoff / self.game.unit_chips:+.2f} {self.game.unit}s"
            parts.append(f"value: {payoff_text}, the player's expected payoff of the whole hand")
        # Names from other people's files may contain control characters.
        parts = [escape_control_characters(part) for part in parts]
        if self.hand_grid is not None:
            parts.append(
                "The most frequent action with every starting hand in this position, suited hands"
                "\nabove the diagonal and offsuit hands below: f fold, c check or call, r bet or"
                "\nraise, with its percentage unless it is always taken.\n\n"
                + format_grid(self.hand_grid, self.game.ranks, use_color)
            )
        return "\n\n".join(parts)

    def _describe_situation(self) -> str:
        record, variant_game = self.record, self._variant_game
        hole_cards, _, board_text = self._infoset_name.split(" ")[1].partition("|")
        actions_text = format_actions(self.game, record)
        seat, price = int(record["to_act"]), int(record["price"])
        if variant_game.starting_stacks is not None:
            stack = variant_game.starting_stacks[seat] - variant_game.dead_antes[seat]
            price = min(price, stack)
        facts = [f"{describe_seat(variant_game, seat)} with {hole_cards}"]
        if self.combination_count is not None:
            facts.append(f"the mean over its {self.combination_count} combinations")
        facts += [f"board {board_text}"] * bool(board_text)
        facts.append(f"after {actions_text}" if actions_text else "first to act")
        pot = int(record["paid"].sum()) + sum(variant_game.dead_antes)
        call_amount = price - int(record["paid"][seat])
        return (
            f"{self.game.name}, {self.player_name}\n{', '.join(facts)}; pot {pot} chips,"
            f" {call_amount} to call"
        )

    def _format_prob_bars(self) -> str:
        """Return a line for each legal action; bets of any amount are grouped by size."""
        records = np.array([self.record])
        groups = group_moves(self.game, records, self.probs, self.values)
        names = [self._name_group(group) for group in groups]
        width, has_values = max(map(len, names)), not np.isnan(self.values).all()
        equilibrium_texts, heading = [""] * len(groups), ""
        if self.equilibrium_probs is not None:
            heading = "  equilibrium"
            equilibrium = group_moves(self.game, records, self.equilibrium_probs)
            equilibrium_texts = [f"{group.prob:11.1%}  " for group in equilibrium]
        heading += "   expects" * has_values
        lines = [f"{'':{width}}  policy{heading}"] if heading else []
        for group, name, text in zip(groups, names, equilibrium_texts, strict=True):
            if has_values:
                text += " " * 10 if group.value is None else f"{group.value:+8.2f}  "
            bar = "#" * round(FULL_BAR_WIDTH * group.prob)
            lines.append(f"{name:{width}}  {group.prob:6.1%}  {text}{bar}".rstrip())
        return "\n".join(lines)

    def _name_group(self, group: MoveGroup) -> str:
        """Return the name of a group of moves, with amounts in chips over the whole hand."""
        first, last = self.bets.get(group.first_action), self.bets.get(group.last_action)
        if first is None or last is None:
            return group.label.split(" ")[0].lower()
        if group.name:
            name = group.name + f" to {first.to}" * (group.name != f"raise_{first.to}")
            if isinstance(self._variant_game, NoLimitPoker) and first.to != first.on_street:
                name += f" ({first.on_street} on this street)"
            return name
        amounts = dict.fromkeys([first.to, last.to])
        chips_text = " to ".join(f"r{chips}" for chips in amounts)
        units_text = format_units(self.game, *amounts)
        return f"{'  ' * group.is_part}{group.label.lower()}, {chips_text} ({units_text})"


def print_advice(
    config: AdviseConfig,
    group_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
) -> None:
    """Print a player's policy at a position, and save a figure of the hand grid if requested."""
    game, spec = resolve_game_and_player(config.run, config.checkpoint, config.player, group_config)
    if not isinstance(game, DisplayedPoker):
        raise ConfigError(f"game: {game.name} is not a poker game")
    if config.hand is None:
        raise ConfigError("hand: missing; give hand=…, see poker-rl advise --help")
    records = parse_position(game, config.seats, config.hand, config.board, config.actions)
    if config.figure is not None:
        with error_prefix("figure"):
            if not supports_hand_grid(game):
                raise ConfigError(f"is of starting hands of hold'em, and {game.name} has none")
            if not config.figure.endswith(".png"):
                raise ConfigError(f"{config.figure} does not end in .png")
            prepare_output_file(Path(config.figure), config.overwrite)
    device = prepare_process(config.device, config.threads, seed=0)
    with error_prefix("player" if config.run is None else "run"):
        player, player_name = load_player(spec, game, device, option_dirs), resolve_spec(spec)
    is_class = list_hand_combinations(game.get_variant_game(records[0]), config.hand) is not None
    with_grid = config.hand_grid or config.figure is not None
    advice = compute_advice(
        game, player, player_name, records, with_grid, config.hand if is_class else None
    )
    printed_advice = advice if config.hand_grid else replace(advice, hand_grid=None)
    if config.json:
        print_line(dumps(printed_advice.to_dict(), indent=2))
    else:
        use_color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print_line(printed_advice.format_text(use_color), is_escaped=True)
    if config.figure is not None and advice.hand_grid is not None:
        # These modules are imported only here, because matplotlib loads slowly.
        from poker_rl.evaluation.plots.cell_figures import draw_hand_grids
        from poker_rl.evaluation.plots.plotting import save_figure

        figure = draw_hand_grids([advice.hand_grid], player_name, game.ranks)
        save_figure(figure, Path(config.figure), f"{game.name}, {player_name}")


def compute_advice(
    game: DisplayedPoker,
    player: Player,
    player_name: str,
    records: np.ndarray,
    with_grid: bool,
    hand_class: str | None = None,
) -> PositionAdvice:
    """Return a player's policy and expected payoff at a position, for the seat to act.

    Args:
        records: the position with each hand of `hand_class`, shape [hands]; the results are
            averaged over the hands.
        with_grid: whether to compute the grid of starting hands too, if the game is hold'em.
        hand_class: the class of hands, such as `AKs`; None for a single hand.
    """
    probs = compute_checked_probs(game, player, records).mean(0)
    equilibrium = compute_equilibrium(game)
    values, payoffs = player.action_values(records), player.state_values(records)
    has_grid = with_grid and supports_hand_grid(game)
    hole_cards = game.infoset_name(records[0]).split(" ")[1].partition("|")[0]
    return PositionAdvice(
        game,
        player_name,
        records[0],
        None if hand_class is None else len(records),
        hand_class or hole_cards,
        probs,
        None if equilibrium is None else equilibrium.action_probs(records).mean(0),
        np.full(len(probs), np.nan) if values is None else values.mean(0),
        None if payoffs is None else float(payoffs.mean()),
        compute_hand_grid_of_table(game, player, records[0]) if has_grid else None,
    )
