"""`poker-rl advise`: print a player's policy at the position after given cards and actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.algos.tabular.small_game_equilibrium import compute_equilibrium_player
from poker_rl.config.input_checks import ConfigError, PositiveInt, error_prefix
from poker_rl.evaluation.starting_hand_grid import (
    StartingHandGrid,
    compute_hand_grid_of_table,
    describe_seat,
    format_grid,
    grid_to_dict,
    supports_hand_grid,
)
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.no_limit_poker import NoLimitPoker
from poker_rl.games.poker.position_notation import (
    format_actions,
    list_hand_combinations,
    parse_position,
)
from poker_rl.games.poker.table_dtypes import CALL
from poker_rl.games.tables import tables_from_records
from poker_rl.play.bet_size_groups import MoveGroup, format_chips_in_game_unit, group_moves
from poker_rl.players.player import Player, compute_checked_probs
from poker_rl.players.player_loader import load_player, resolve_spec
from poker_rl.reports.table_formats import format_columns
from poker_rl.storage.disk import prepare_output_file
from poker_rl.storage.terminal_printing import escape_control_characters, print_line
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.run_config import PlayerSourceConfig, resolve_game_and_player_spec

FULL_BAR_WIDTH = 30  # length of the bar of a probability of 1, in characters


@dataclass(kw_only=True, frozen=True)
class AdviseConfig(PlayerSourceConfig):
    """Settings of `poker-rl advise`."""

    seats: PositiveInt | None
    hand: str | None
    board: str
    actions: str
    hand_grid: bool
    figure: str | None
    overwrite: bool
    json: bool


class PositionAdvice:
    """Policy and expected payoff of a player at one position, for the seat to act.

    Args:
        records: one table record per hole-card combination of `hand_class`, shape [combinations];
            all results are means over these combinations.
        hand_class: a class of hole cards, such as `AKs`; None for a single combination.
    """

    def __init__(
        self,
        game: DisplayedPoker,
        player: Player,
        player_name: str,
        records: np.ndarray,
        hand_class: str | None = None,
    ) -> None:
        self.game, self.player, self.player_name = game, player, player_name
        self.records, self.hand_class = records, hand_class
        # For each legal bet or raise: all chips that the seat to act then has in the pot.
        self.raise_targets = game.compute_raise_targets(records[0])
        # Chips that this seat put in on earlier streets; on the first street, its ante.
        self.bet_before_street = game.compute_price_before_street(records[0])
        # Arrays have the shape [actions]. Action values are in chips, NaN if unknown.
        self.probs = compute_checked_probs(game, player, records).mean(0)
        values, payoffs = player.action_values(records), player.state_values(records)
        self.values = np.full(len(self.probs), np.nan) if values is None else values.mean(0)
        self.expected_payoff = None if payoffs is None else float(payoffs.mean())
        self.equilibrium_probs: np.ndarray | None = None
        if (equilibrium := compute_equilibrium_player(game)) is not None:
            self.equilibrium_probs = equilibrium.action_probs(records).mean(0)

    @cached_property
    def hand_grid(self) -> StartingHandGrid | None:
        """The player's policy with every starting hand; None if the game is not hold'em."""
        if not supports_hand_grid(self.game):
            return None
        return compute_hand_grid_of_table(self.game, self.player, self.records[0])

    @cached_property
    def infoset_name(self) -> str:
        """Name of the information set, with the class of hands in place of the hole cards."""
        seat, cards_text, *action_texts = self.game.infoset_name(self.records[0]).split(" ")
        hole_cards, separator, board_text = cards_text.partition("|")
        cards_text = f"{self.hand_class or hole_cards}{separator}{board_text}"
        return " ".join([seat, cards_text, *action_texts])

    def to_dict(self, with_grid: bool) -> dict[str, Any]:
        """Return the advice as plain values for JSON, in chips; `with_grid` adds the hand grid."""
        tables = tables_from_records(self.game, self.records[:1])
        actions = []
        for action in np.flatnonzero(tables.legal_mask()[0]).tolist():
            equilibrium, value = self.equilibrium_probs, self.values
            raise_to = self.raise_targets.get(action)
            actions.append(
                {
                    "name": self.game.action_name(action),
                    "to": raise_to,
                    "on_street": raise_to and raise_to - self.bet_before_street,
                    "prob": float(self.probs[action]),
                    "equilibrium": None if equilibrium is None else float(equilibrium[action]),
                    "value": None if np.isnan(value[action]) else float(value[action]),
                }
            )
        grid = self.hand_grid if with_grid else None
        return {
            "game": self.game.name,
            "player": self.player_name,
            "infoset": self.infoset_name,
            "seat": int(self.records["to_act"][0]),
            "hand": self.infoset_name.split(" ")[1].partition("|")[0],
            "combinations": None if self.hand_class is None else len(self.records),
            "actions": actions,
            "value": self.expected_payoff,
            "unit": "chips",
            "unit_chips": self.game.unit_chips,
            "grid": None if grid is None else grid_to_dict(grid, self.game.ranks),
        }

    def format_text(self, with_grid: bool, use_color: bool) -> str:
        """Return the advice as text; `with_grid` adds the hand grid, with colors if `use_color`."""
        parts = [self._describe_situation(), self._format_policy_table()]
        if self.expected_payoff is not None:
            payoff_text = f"{self.expected_payoff / self.game.unit_chips:+.2f} {self.game.unit}s"
            parts.append(f"value: {payoff_text}, the player's expected payoff of the whole hand")
        # Names from other people's files may contain control characters.
        parts = [escape_control_characters(part) for part in parts]
        if with_grid and self.hand_grid is not None:
            parts.append(
                "The most frequent action with every starting hand in this position, suited hands"
                "\nabove the diagonal and offsuit hands below: f fold, c check or call, r bet or"
                "\nraise, with its percentage unless it is always taken.\n\n"
                + format_grid(self.hand_grid, self.game.ranks, use_color)
            )
        return "\n\n".join(parts)

    def _describe_situation(self) -> str:
        record = self.records[0]
        variant_game = self.game.get_variant_at_table(record)
        hole_cards, _, board_text = self.infoset_name.split(" ")[1].partition("|")
        actions_text = format_actions(self.game, record)
        facts = [f"{describe_seat(variant_game, int(record['to_act']))} with {hole_cards}"]
        if self.hand_class is not None:
            facts.append(f"the mean over its {len(self.records)} combinations")
        facts += [f"board {board_text}"] * bool(board_text)
        facts.append(f"after {actions_text}" if actions_text else "first to act")
        pot = sum(seat_view.paid for seat_view in self.game.build_view(record, None).seats)
        (call,) = self.game.list_moves(record, [CALL])
        return (
            f"{self.game.name}, {self.player_name}\n{', '.join(facts)}; pot {pot} chips,"
            f" {call.chips_added} to call"
        )

    def _format_policy_table(self) -> str:
        """Return a table of the groups of legal actions: name, probability, value and bar."""
        groups = group_moves(self.game, self.records[:1], self.probs, self.values)
        columns = {
            "action": [self._name_group(group) for group in groups],
            "policy": [f"{group.prob:6.1%}" for group in groups],
        }
        if self.equilibrium_probs is not None:
            equilibrium = group_moves(self.game, self.records[:1], self.equilibrium_probs)
            columns["equilibrium"] = [f"{group.prob:11.1%}" for group in equilibrium]
        if not np.isnan(self.values).all():
            texts = ["" if group.value is None else f"{group.value:+8.2f}" for group in groups]
            columns["expects"] = texts
        columns[""] = ["#" * round(FULL_BAR_WIDTH * group.prob) for group in groups]
        return format_columns([[*columns], *zip(*columns.values(), strict=True)], key_columns=1)

    def _name_group(self, group: MoveGroup) -> str:
        """Return a group's name; a bet's name has the seat's chips in the pot after the bet."""
        first = self.raise_targets.get(group.first_action)
        last = self.raise_targets.get(group.last_action)
        if first is None or last is None:
            return group.label.split(" ")[0].lower()
        if group.name:
            name = group.name + f" to {first}" * (group.name != f"raise_{first}")
            variant_game = self.game.get_variant_at_table(self.records[0])
            if isinstance(variant_game, NoLimitPoker) and self.bet_before_street:
                name += f" ({first - self.bet_before_street} on this street)"
            return name
        amounts = dict.fromkeys([first, last])
        chips_text = " to ".join(f"r{chips}" for chips in amounts)
        units_text = format_chips_in_game_unit(self.game, *amounts)
        return f"{'  ' * group.is_subgroup}{group.label.lower()}, {chips_text} ({units_text})"


def print_advice(
    config: AdviseConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Print a player's policy at a position; save a figure of the hand grid if requested."""
    game, spec = resolve_game_and_player_spec(config, group_config)
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
        prepare_output_file("figure", Path(config.figure), config.overwrite)
    device = prepare_process(config.device, config.threads, seed=0)
    with error_prefix("player" if config.run is None else "run"):
        player, player_name = load_player(spec, game, device, option_dirs), resolve_spec(spec)
    is_class = (
        list_hand_combinations(game.get_variant_at_table(records[0]), config.hand) is not None
    )
    hand_class = config.hand if is_class else None
    advice = PositionAdvice(game, player, player_name, records, hand_class)
    if config.json:
        print_line(dumps(advice.to_dict(config.hand_grid), indent=2))
    else:
        use_color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        print_line(advice.format_text(config.hand_grid, use_color), is_escaped=True)
    if config.figure is not None and advice.hand_grid is not None:
        # These modules are imported only here, because matplotlib loads slowly.
        from poker_rl.evaluation.plots.plotting import save_figure
        from poker_rl.evaluation.plots.policy_and_cross_table_figures import draw_hand_grids

        figure = draw_hand_grids([advice.hand_grid], player_name, game.ranks)
        save_figure(figure, Path(config.figure), f"{game.name}, {player_name}")
