"""`poker-rl advise`: print a player's policy at a position given by cards and actions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poker_rl.algos.tabular.equilibrium_solver import compute_equilibrium
from poker_rl.config.build import convert_fields
from poker_rl.config.validation import ConfigError, NonNegativeInt, PositiveInt, error_prefix
from poker_rl.evaluation.starting_hand_grid import (
    StartingHandGrid,
    compute_hand_grid_of_table,
    describe_seat,
    format_grid,
    grid_to_dict,
    supports_hand_grid,
)
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.no_limit import NoLimitPoker
from poker_rl.games.poker.poker_game import PokerGame
from poker_rl.games.poker.position_notation import (
    Bet,
    format_actions,
    list_bets,
    list_hand_combinations,
    map_raises_to_chips,
    parse_position,
)
from poker_rl.games.poker.record_dtypes import CALL, FOLD
from poker_rl.games.tables import Tables
from poker_rl.play.move_groups import MoveGroup, group_moves
from poker_rl.players.player import Player, compute_checked_probs
from poker_rl.players.player_loader import load_player, resolve_spec
from poker_rl.storage.disk import escape_control_characters, prepare_output_file, print_line
from poker_rl.training.device import prepare_process
from poker_rl.training.game_and_player import resolve_game_and_player

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
class LegalAction:
    """Legal action with its probability in the player's policy."""

    action: int
    action_name: str  # name of the action in any position, such as raise_0.5
    display_name: str  # name of the action in this position, with amounts in chips
    bet: Bet | None  # amounts of a bet or raise; None for fold, check and call
    prob: float
    equilibrium_prob: float | None  # None if no equilibrium is known
    value: float | None  # expected payoff of the hand in the game's unit; None if unknown


@dataclass(frozen=True)
class PositionAdvice:
    """Player's policy and expected payoff at one position."""

    game: DisplayedPoker
    player_name: str
    record: np.void
    hand_text: str  # hole cards such as `AsKd`, or a class of hands such as `AKs`
    combination_count: int | None  # number of hands in the class; None for hole cards
    actions: tuple[LegalAction, ...]
    groups: list[MoveGroup]  # the legal actions again, with bets grouped by size
    expected_payoff: float | None  # of the whole hand, in chips
    hand_grid: StartingHandGrid | None

    @property
    def _variant_game(self) -> PokerGame:
        return self.game.get_variant_game(self.record)

    @property
    def _infoset_name(self) -> str:
        """Return the name of the information set, with `hand_text` as the hole cards."""
        seat, cards_text, *action_texts = self._variant_game.infoset_name(self.record).split(" ")
        _, separator, board_text = cards_text.partition("|")
        return " ".join([seat, f"{self.hand_text}{separator}{board_text}", *action_texts])

    def to_dict(self) -> dict[str, Any]:
        """Return the advice as plain values for JSON."""
        grid_dict = None
        if self.hand_grid is not None:
            grid_dict = grid_to_dict(self.hand_grid, self.game.ranks)
        return {
            "game": self.game.name,
            "player": self.player_name,
            "infoset": self._infoset_name,
            "seat": int(self.record["to_act"]),
            "hand": self.hand_text,
            "combinations": self.combination_count,
            "actions": [
                {
                    "name": choice.action_name,
                    "to": choice.bet and choice.bet.to,
                    "on_street": choice.bet and choice.bet.on_street,
                    "prob": choice.prob,
                    "equilibrium": choice.equilibrium_prob,
                    "value": choice.value and choice.value * self.game.unit_chips,
                }
                for choice in self.actions
            ],
            "value": self.expected_payoff,
            "unit": "chips",
            "unit_chips": self.game.unit_chips,
            "grid": grid_dict,
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
        seat = int(record["to_act"])
        price_to_stay, dead = int(record["price"]), variant_game.dead_antes
        most = (
            price_to_stay
            if variant_game.starting_stacks is None
            else variant_game.starting_stacks[seat] - dead[seat]
        )
        call_amount = min(price_to_stay, most) - int(record["paid"][seat])
        combinations_text = f", the mean over its {self.combination_count} combinations"
        description_parts = [
            f"{describe_seat(variant_game, seat)} with"
            f" {hole_cards}{combinations_text * (self.combination_count is not None)}"
        ]
        description_parts += [f"board {board_text}"] * bool(board_text)
        description_parts.append(f"after {actions_text}" if actions_text else "first to act")
        pot_text = f"pot {int(record['paid'].sum()) + sum(dead)} chips, {call_amount} to call"
        description = (
            f"{self.game.name}, {self.player_name}\n{', '.join(description_parts)}; {pot_text}"
        )
        bets = [
            *list_bets(self.game, record)[0],
            *filter(None, (legal_action.bet for legal_action in self.actions)),
        ]
        later_street_bet = next((bet for bet in bets if bet.to != bet.on_street), None)
        if isinstance(variant_game, NoLimitPoker) and later_street_bet is not None:
            description += (
                "\namounts are chips put in over the whole hand, blinds and antes included:"
                f" r{later_street_bet.to} is r{later_street_bet.on_street}s,"
                f" {later_street_bet.on_street} on its street"
            )
        return description

    def _format_prob_bars(self) -> str:
        rows = self._list_displayed_actions()
        width = max(len(row.display_name) for row in rows)
        has_equilibrium = any(row.equilibrium_prob is not None for row in rows)
        has_values = any(row.value is not None for row in rows)
        heading = "  equilibrium" * has_equilibrium + "   expects" * has_values
        lines = [f"{'':{width}}  policy{heading}"] if heading else []
        for row in rows:
            text = f"{row.display_name:{width}}  {row.prob:6.1%}  "
            if row.equilibrium_prob is not None:
                text += f"{row.equilibrium_prob:11.1%}  "
            if has_values:
                text += " " * 10 if row.value is None else f"{row.value:+8.2f}  "
            lines.append((text + "#" * round(FULL_BAR_WIDTH * row.prob)).rstrip())
        return "\n".join(lines)

    def _list_displayed_actions(self) -> list[LegalAction]:
        """Return the legal actions; if any amount may be bet, bets are grouped by size."""
        if not any(group.is_part for group in self.groups):
            return list(self.actions)
        rows = []
        for group in self.groups:
            actions = [
                one for one in self.actions if group.first_action <= one.action <= group.last_action
            ]
            row, bets = actions[0], [one.bet.to for one in actions if one.bet is not None]
            if bets:
                amounts = dict.fromkeys((bets[0], bets[-1]))
                chips_text = " to ".join(f"r{chips}" for chips in amounts)
                units_text = " to ".join(f"{round(c / self.game.unit_chips, 1):g}" for c in amounts)
                name = f"{'  ' * group.is_part}{group.label.lower()}"
                unit = "bb" if self.game.unit == "big blind" else f"{self.game.unit}s"
                name += f", {chips_text} ({units_text} {unit})"
                equilibrium_prob = (
                    None
                    if row.equilibrium_prob is None
                    else sum(one.equilibrium_prob or 0 for one in actions)
                )
                row = replace(
                    row,
                    display_name=name,
                    prob=group.prob,
                    equilibrium_prob=equilibrium_prob,
                    value=group.value,
                )
            rows.append(row)
        return rows


def print_advice(
    settings_dict: dict[str, Any],
    game_config: Mapping[str, Any] | None,
    option_dirs: Sequence[Path],
) -> None:
    """Print a player's policy at a position, and save a figure of the hand grid if requested.

    Args:
        settings_dict: the settings of conf/advise.yaml, changed by the command line.
        game_config: the config with the key `game`; None for the game of the run.
        option_dirs: folders of YAML options, such as `conf`.

    Raises:
        ConfigError: if a setting is not allowed.
    """
    config = AdviseConfig(**convert_fields(AdviseConfig, settings_dict, "", {}))
    game, spec = resolve_game_and_player(config.run, config.checkpoint, config.player, game_config)
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
    device = prepare_process(config.device, config.threads, seed=0)
    with error_prefix("player" if config.run is None else "run"):
        player, player_name = load_player(spec, game, device, option_dirs), resolve_spec(spec)
    if config.figure is not None:
        with error_prefix("figure"):
            prepare_output_file(Path(config.figure), config.overwrite)
    variant_game = game.get_variant_game(records[0])
    hand_class = (
        config.hand if list_hand_combinations(variant_game, config.hand) is not None else None
    )
    with_grid = config.hand_grid or config.figure is not None
    advice = compute_advice(game, player, player_name, records, with_grid, hand_class)
    printed_advice = advice if config.hand_grid else replace(advice, hand_grid=None)
    if config.json:
        print_line(dumps(printed_advice.to_dict(), indent=2))
    else:
        print_line(
            printed_advice.format_text(sys.stdout.isatty() and "NO_COLOR" not in os.environ),
            is_escaped=True,
        )
    if config.figure is not None and advice.hand_grid is not None:
        # These modules are imported only here, because matplotlib loads slowly.
        from poker_rl.evaluation.plots.hand_grid_figures import draw_hand_grids
        from poker_rl.evaluation.plots.plotting import save_png
        from poker_rl.evaluation.plots.run_figures import shorten_player_name

        figure = draw_hand_grids(
            [advice.hand_grid], f"Starting hands: {shorten_player_name(player_name)}", game.ranks
        )
        save_png(figure, Path(config.figure), f"{game.name}, {player_name}")


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
        game: the game of the position.
        player: the player that advises.
        player_name: display name of the player.
        records: the position with each hand of `hand_class`, shape [hands]; the results are
            averaged over the hands.
        with_grid: whether to compute the grid of starting hands too, if the game is hold'em.
        hand_class: the class of hands, such as `AKs`; None for a single hand.
    """
    tables = Tables(game, 0, 0)
    tables.load_records(records)
    probs, raise_targets = (
        compute_checked_probs(game, player, records).mean(0),
        map_raises_to_chips(game, tables),
    )
    equilibrium_player = compute_equilibrium(game)
    equilibrium_probs = (
        None if equilibrium_player is None else equilibrium_player.action_probs(records).mean(0)
    )
    action_values = player.action_values(records)
    values = np.full(len(probs), np.nan) if action_values is None else action_values.mean(0)
    legal_mask, seat = tables.legal_mask()[0], int(records[0]["to_act"])
    chips_before_street = int(list_bets(game, records[0])[1][seat])
    variant_game = game.get_variant_game(records[0])
    legal_actions = []
    for action in np.flatnonzero(legal_mask).tolist():
        display_name, bet = game.move_name(records[0], action), None
        if action == CALL and not legal_mask[FOLD]:
            display_name = "check"
        elif action in raise_targets:
            bet = Bet(raise_targets[action], raise_targets[action] - chips_before_street)
            display_name += f" to {bet.to}" * (display_name != f"raise_{bet.to}")
            if isinstance(variant_game, NoLimitPoker) and chips_before_street:
                display_name += f" ({bet.on_street} on this street)"
        equilibrium_prob = None if equilibrium_probs is None else float(equilibrium_probs[action])
        legal_actions.append(
            LegalAction(
                action,
                game.action_name(action),
                display_name,
                bet,
                float(probs[action]),
                equilibrium_prob,
                None if np.isnan(values[action]) else float(values[action]) / game.unit_chips,
            )
        )
    state_values = player.state_values(records)
    expected_payoff = None if state_values is None else float(state_values.mean())
    hand_grid = (
        compute_hand_grid_of_table(game, player, records[0])
        if with_grid and supports_hand_grid(game)
        else None
    )
    hole_cards = variant_game.infoset_name(records[0]).split(" ")[1].partition("|")[0]
    combination_count = None if hand_class is None else len(records)
    return PositionAdvice(
        game,
        player_name,
        records[0],
        hand_class or hole_cards,
        combination_count,
        tuple(legal_actions),
        group_moves(game, records[:1], probs, values),
        expected_payoff,
        hand_grid,
    )
