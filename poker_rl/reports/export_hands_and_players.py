"""`poker-rl export`: hands, policies and weights of players as files for other programs.

Policies of Kuhn poker and two-player Leduc poker are written with OpenSpiel's names of information
sets and its action numbers (Lanctot et al., arXiv:1908.09453). These numbers differ from those of
this program only in Kuhn poker, where OpenSpiel's 0 is `pass` and 1 is `bet`. OpenSpiel's Leduc
poker for three players is another game, because it splits odd chips.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from poker_rl.config.input_checks import ConfigError, Range, Seed, error_prefix
from poker_rl.evaluation.matches.duplicate_match import play_deals
from poker_rl.evaluation.player_evaluator import MAX_TREE_NODES
from poker_rl.games.game import Game
from poker_rl.games.game_tree import GameTree, count_nodes, get_tree
from poker_rl.games.hand_history import HandHistory, hand_history_from_record
from poker_rl.games.poker.fixed_limit_poker import FixedLimitPoker
from poker_rl.games.poker.phh_writer import check_phh_support, format_phh
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.tables import Tables
from poker_rl.players.player import Player, compute_checked_probs
from poker_rl.players.player_loader import load_player, resolve_spec
from poker_rl.reports.export_weights import WEIGHTS_SUFFIXES, export_weights, list_output_paths
from poker_rl.storage.disk import prepare_output_file, to_csv, write_text_atomically
from poker_rl.storage.terminal_printing import print_line
from poker_rl.training.rank_and_device import prepare_process
from poker_rl.training.run_config import PlayerSourceConfig, resolve_game_and_player_spec

ALLOWED_SUFFIXES = {"out": (".phhs",), "policy": (".csv",), "weights": WEIGHTS_SUFFIXES}
OPEN_SPIEL_KUHN, OPEN_SPIEL_LEDUC = "kuhn_poker", "leduc_poker"
LEDUC_STARTING_CHIPS = 100
# The settings whose values `KUHN_RULES` and `LEDUC_RULES` list, in this order
RULE_KEYS = ("hole_cards", "ante", "blinds", "board_cards", "openers", "raise_sizes", "max_raises")
KUHN_RULES: tuple[Any, ...] = (1, 1, [], [0], [0], [1], [1])
LEDUC_RULES: tuple[Any, ...] = (1, 1, [], [0, 1], [0, 0], [2, 4], [2, 2])


@dataclass(kw_only=True, frozen=True)
class ExportConfig(PlayerSourceConfig):
    """Settings of `poker-rl export`; conf/export.yaml explains them."""

    hands: Annotated[int, Range(1, 1_000_000)] | None  # a million hands are about 700 MB
    against: str | None
    out: str | None
    policy: str | None
    weights: str | None
    overwrite: bool
    seed: Seed


def export_files(
    config: ExportConfig, group_config: Mapping[str, Any] | None, option_dirs: Sequence[Path]
) -> None:
    """Write the hands, the policy and the weights of a player to the files that `config` names."""
    game, spec = resolve_game_and_player_spec(config, group_config)
    check_export_settings(config, game)
    device = prepare_process(config.device, config.threads, config.seed)
    with error_prefix("player" if config.run is None else "run"):
        player, name = load_player(spec, game, device, option_dirs), resolve_spec(spec)
    opponent, opponent_name = player, name
    if config.against is not None:
        with error_prefix("against"):
            opponent = load_player(config.against, game, device, option_dirs)
            opponent_name = resolve_spec(config.against)
    weight_paths = [] if config.weights is None else list_output_paths(Path(config.weights))
    files = [("out", config.out), ("policy", config.policy)]
    for key, path in (*files, *(("weights", weight_path) for weight_path in weight_paths)):
        if path is not None:
            prepare_output_file(key, Path(path), config.overwrite)
    if weight_paths:
        with error_prefix("weights"):
            print_line(export_weights(weight_paths[0], spec, player, game))
    if config.policy is not None:
        tree = get_tree(game)
        policy = compute_checked_probs(game, player, tree.infoset_records)
        write_text_atomically(Path(config.policy), format_policy_as_csv(tree, policy))
        program = "this program" if find_open_spiel_name(game) is None else "OpenSpiel"
        counted = f"{tree.infoset_count} information sets of {name}"
        print_line(f"{config.policy}: {counted}, named as in {program}")
    if config.hands is not None and config.out is not None:
        formatted_hands = []
        hands = create_hand_histories(game, (player, opponent), config.hands, config.seed)
        for number, (hand, own_seat) in enumerate(hands, start=1):
            names = [opponent_name] * int(game.definitions[hand.variant]["seats"])
            names[own_seat] = name
            formatted_hands.append(f"[{number}]\n{format_phh(game, hand, names)}")
        write_text_atomically(Path(config.out), "\n".join(formatted_hands))
        print_line(f"{config.out}: {config.hands} hands of {name} against {opponent_name}")


def check_export_settings(config: ExportConfig, game: Game) -> None:
    """Raise ConfigError if settings contradict each other or do not suit the game."""
    if config.hands is None and config.policy is None and config.weights is None:
        raise ConfigError(
            "hands, policy, weights: give hands=1000 out=FILE.phhs, policy=FILE.csv or"
            " weights=FILE.safetensors"
        )
    if (config.hands is None) != (config.out is None):
        raise ConfigError("hands, out: go together; give hands=1000 out=FILE.phhs")
    for key, suffixes in ALLOWED_SUFFIXES.items():
        path = getattr(config, key)
        if path is not None and not path.endswith(suffixes):
            raise ConfigError(f"{key}: {path} does not end in {' or '.join(suffixes)}")
    if config.hands is not None:
        with error_prefix("hands"):
            check_phh_support(game)
    if config.policy is not None and count_nodes(game, MAX_TREE_NODES) > MAX_TREE_NODES:
        raise ConfigError(f"policy: {game.name} is too large for all of a policy to be written")


def create_hand_histories(
    game: Game, players: tuple[Player, Player], hand_count: int, seed: int
) -> list[tuple[HandHistory, int]]:
    """Play `hand_count` deals; return one hand of each, with the seat of `players[0]` in it.

    A deal is played with `players[0]` in every seat, and with `players[1]` in all other seats. From
    deal to deal, the returned hand is the one in which `players[0]` has the next seat.
    """
    hands: list[tuple[HandHistory, int]] = []

    def collect_hands(tables: Tables, rotation: np.ndarray) -> None:
        deal_of_table = np.cumsum(rotation == 0) - 1 + len(hands)
        is_chosen = rotation == deal_of_table % tables.count_seats()
        for record, seat in zip(tables.records[is_chosen], rotation[is_chosen], strict=True):
            action_line = tuple(record["line"][: record["moves"]].tolist())
            hands.append((hand_history_from_record(game, record, action_line), int(seat)))

    seat_players = [players[0]] + [players[1]] * (game.seats - 1)
    play_deals(game, seat_players, hand_count, seed, [collect_hands])
    return hands


def format_policy_as_csv(tree: GameTree, policy: np.ndarray) -> str:
    """Format a policy [information sets, actions] as CSV, with a row for each information set.

    Names of information sets and numbers of actions are OpenSpiel's if OpenSpiel has the game.
    """
    game, open_spiel_name = tree.game, find_open_spiel_name(tree.game)
    names, probs_by_number = [], np.full_like(policy, np.nan)
    for i, (record, legal) in enumerate(zip(tree.infoset_records, tree.legal_mask, strict=True)):
        actions = numbers = np.flatnonzero(legal)
        if open_spiel_name is None:
            names.append(game.infoset_name(record))
        else:
            names.append(format_open_spiel_infoset(open_spiel_name, game.seats, record))
            if open_spiel_name == OPEN_SPIEL_KUHN:
                numbers = to_open_spiel_kuhn_action(actions, bool(legal[FOLD]))
        probs_by_number[i, numbers] = policy[i, actions]
    used = np.flatnonzero(np.isfinite(probs_by_number).any(0))
    rows = np.nan_to_num(probs_by_number[:, used]).tolist()
    columns = ["infoset", *(f"action_{number}" for number in used)]
    table = zip(names, rows, strict=True)
    return to_csv([dict(zip(columns, (name, *row), strict=True)) for name, row in table])


def find_open_spiel_name(game: Game) -> str | None:
    """Return OpenSpiel's name of a game; None if OpenSpiel does not have the game."""
    if not isinstance(game, FixedLimitPoker) or len(game.ranks) != game.seats + 1 or game.stacks:
        return None
    rules = tuple(game.to_dict()[key] for key in RULE_KEYS)
    if len(game.suits) == 1 and rules == KUHN_RULES:
        return OPEN_SPIEL_KUHN
    is_leduc = game.seats == len(game.suits) == 2 and rules == LEDUC_RULES
    return OPEN_SPIEL_LEDUC if is_leduc else None


def format_open_spiel_infoset(open_spiel_name: str, seats: int, record: np.void) -> str:
    """Return OpenSpiel's name of the information set at a table record, for the seat to act."""
    seat, street, actions = int(record["to_act"]), int(record["street"]), record["line"]
    actions, own_card = actions[: record["moves"]], int(record["deck"][seat])
    if open_spiel_name == OPEN_SPIEL_KUHN:
        facing_bet = np.cumsum(actions == RAISE) > 0
        bets = to_open_spiel_kuhn_action(actions, facing_bet)
        return str(own_card) + "".join("pb"[bet] for bet in bets)
    digits = "".join(map(str, actions))
    first_round = re.match(f"{CALL}{CALL}|{CALL}?{RAISE}+{CALL}", digits) if street else None
    end = len(digits) if first_round is None else first_round.end()
    chips_in = record["paid"][:seats].tolist()
    money = " ".join(str(LEDUC_STARTING_CHIPS - chips) for chips in chips_in)
    public_card_text = f"[Public: {int(record['deck'][seats])}]" if street else ""
    return (
        f"[Observer: {seat}][Private: {own_card}][Round {street + 1}][Player: {seat}]"
        f"[Pot: {sum(chips_in)}][Money: {money}]{public_card_text}"
        f"[Round1: {' '.join(digits[:end])}][Round2: {' '.join(digits[end:])}]"
    )


def to_open_spiel_kuhn_action(action: np.ndarray, facing_bet: np.ndarray | bool) -> np.ndarray:
    """Convert actions of Kuhn poker to OpenSpiel's: 1 for a raise or the call of a bet, else 0."""
    return np.where((action == RAISE) | ((action == CALL) & facing_bet), 1, 0)
