"""Policy of a player at public states with every hand that the seat to act may hold.

A public state is what both seats see: the board and the actions so far. The query is fast for a
network in which each input feature depends either on the public state or on the hand of the seat to
act: D states and R hands need only D + R encodings instead of D * R. The first layer is linear, so
it is also computed once for each state and once for each hand, and its two outputs are added for
each pair. A GPU computes the policy on the next boards while the CPU evaluates the previous ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.game import Game
from poker_rl.games.public.ranges import PrivateHands
from poker_rl.games.public.tree import Board, BoardEnumerator, check_heads_up_poker
from poker_rl.games.tables import tables_from_records
from poker_rl.nets.cpu_gpu_transfers import copy_to_device, start_copy_to_host
from poker_rl.nets.dense import ACTIVATIONS, ReplicatedMLP
from poker_rl.nets.net_interfaces import SEPARABLE_FEATURES
from poker_rl.nets.precision import use_full_precision
from poker_rl.nets.replicas import slice_replicas
from poker_rl.players.network_player import NetworkPlayer, get_network_index
from poker_rl.players.player import NonFiniteProbsError, Player, compute_checked_probs

# Fewest pairs of a state and a hand in a query of a network; only the last query may have fewer.
MIN_ROWS_PER_QUERY = 2**19

CPU_BLOCK_ROWS = 4096  # rows per forward pass or call of a player: activations fit in the cache
GPU_BLOCK_ROWS = 65_536  # with fewer rows, launching a GPU kernel takes longer than running it


@dataclass(frozen=True)
class RepresentativeHands:
    """The R hands for which the policy is computed on a board.

    A player that ignores how suits are named has the same policy with two hands if a permutation of
    the suits keeps the board and turns one hand into the other. One hand represents all such hands.
    """

    representatives: np.ndarray  # index of each representative among all hands, [R]
    # Index in `representatives` for each of the H hands, [H]; -1 for hands with a board card.
    representative_of_hand: np.ndarray
    # Decks [2, R, cards]: `decks[s, r]` deals the board, and representative r to seat s.
    decks: np.ndarray


@dataclass(frozen=True)
class BoardPolicy:
    """Policy at the D public states of a street on one board, with each representative hand."""

    board: Board
    hands: RepresentativeHands
    probs: np.ndarray  # probabilities of A actions at the D states with the R hands, [D, R, A]


class RangePolicyQuery:
    """Query for the policy of heads-up poker players at public states, with every hand."""

    def __init__(self, game: Game, private_hands: PrivateHands, boards: BoardEnumerator) -> None:
        self._game, self._private_hands, self._boards = (
            check_heads_up_poker(game),
            private_hands,
            boards,
        )

    def find_representative_hands(self, board: Board) -> RepresentativeHands:
        """Return the hands for which the policy is computed on a board, and their decks."""
        representatives, representative_of_hand = self._boards.find_hand_representatives(board)
        hands = self._private_hands.hands[representatives]
        hand_count, hand_size = hands.shape
        is_unused = np.ones((hand_count, self._game.deck_size), bool)
        is_unused[:, board.cards] = False
        is_unused[np.arange(hand_count)[:, None], hands] = False
        unused_cards = np.nonzero(is_unused)[1].reshape(hand_count, -1)
        others = unused_cards[:, :hand_size]
        rest = np.tile(board.cards, (hand_count, 1)), unused_cards[:, hand_size:]
        decks = np.stack([np.hstack([hands, others, *rest]), np.hstack([others, hands, *rest])])
        decks = np.ascontiguousarray(decks[:, :, : self._game.cards_dealt], np.int8)
        return RepresentativeHands(representatives, representative_of_hand, decks)

    def _write_decks(self, tables: np.ndarray, decks: np.ndarray) -> np.ndarray:
        """Write one deck into each record of `tables`, in place; return `tables`."""
        tables["deck"][:, : self._game.cards_dealt] = decks
        return tables

    def compute_probs(
        self, player: Player, states: np.ndarray, representative_hands: RepresentativeHands
    ) -> np.ndarray:
        """Return the probabilities of A actions at D public states with H hands, [D, A, H].

        They are 0 for hands with a board card. `states` [D] has one table in each state. All states
        are on the street of the board; the cards of the tables are ignored.
        """
        probs = self._query_player(player, states, representative_hands.decks)
        row_of_hand = representative_hands.representative_of_hand
        is_possible = row_of_hand >= 0
        hand_probs = np.zeros((len(probs), self._game.action_count, len(row_of_hand)))
        hand_probs[:, :, is_possible] = probs[:, row_of_hand[is_possible]].transpose(0, 2, 1)
        return hand_probs

    def _query_player(self, player: Player, states: np.ndarray, decks: np.ndarray) -> np.ndarray:
        """Return the policy at each state with each of the R hands in `decks`, [D, R, A]."""
        hand_count, card_count = decks.shape[1:]
        hand_decks = decks[states["to_act"]].reshape(-1, card_count)  # [D * R, cards]
        tables = self._write_decks(np.repeat(states, hand_count), hand_decks)
        probs = np.empty((len(tables), self._game.action_count))
        for start in range(0, len(tables), CPU_BLOCK_ROWS):
            rows = slice(start, start + CPU_BLOCK_ROWS)
            probs[rows] = compute_checked_probs(self._game, player, tables[rows])
        return probs.reshape(len(states), hand_count, self._game.action_count)

    def iterate_board_policy_batches(
        self,
        player: Player,
        states: np.ndarray,
        boards: Iterable[Board],
        on_progress: Callable[[int], object] = lambda rows: None,
    ) -> Iterator[list[BoardPolicy]]:
        """Yield lists of the policies on consecutive boards; a list is the result of one query.

        A network on a GPU computes the next list while the caller uses the present one. `states`
        [D] has one table in each public state of the boards' street. Before a list is yielded,
        `on_progress` is called with the number of its (state, hand) pairs.
        """
        network_player = player if has_separable_features(player) and len(states) else None
        min_rows = 0 if network_player is None else MIN_ROWS_PER_QUERY
        finish_previous = None
        for group in self._split_boards_into_queries(boards, len(states), min_rows):
            decks = np.concatenate([hands.decks for _, hands in group], axis=1)
            if network_player is not None:
                state_tables = self._write_decks(states.copy(), decks[states["to_act"], 0])
                hand_tables = np.repeat(states[:1], decks.shape[1])
                self._write_decks(hand_tables, decks[states["to_act"][0]])
                get_probs = start_network_query(network_player, state_tables, hand_tables)
            else:
                get_probs = partial(np.asarray, self._query_player(player, states, decks))
            # Only wait for the previous query after the next one has started.
            if finish_previous is not None:
                yield finish_previous()
            finish_previous = partial(_wait_for_board_policies, group, get_probs, on_progress)
        if finish_previous is not None:
            yield finish_previous()

    def _split_boards_into_queries(
        self, boards: Iterable[Board], state_count: int, min_rows: int
    ) -> Iterator[list[tuple[Board, RepresentativeHands]]]:
        """Yield groups of consecutive boards, each board with its representative hands.

        A group has at least `min_rows` pairs of a state and a hand; only the last may have fewer.
        """
        group, row_count = [], 0
        for board in boards:
            group.append((board, self.find_representative_hands(board)))
            row_count += state_count * len(group[-1][1].representatives)
            if row_count >= min_rows:
                yield group
                group, row_count = [], 0
        if group:
            yield group


def _wait_for_board_policies(
    group: list[tuple[Board, RepresentativeHands]],
    get_probs: Callable[[], np.ndarray],
    on_progress: Callable[[int], object],
) -> list[BoardPolicy]:
    """Wait for the probabilities of boards that were queried together; return their policies."""
    probs, policies, start = get_probs(), [], 0
    on_progress(probs.shape[0] * probs.shape[1])
    for board, hands in group:
        end = start + len(hands.representatives)
        policies.append(BoardPolicy(board, hands, probs[:, start:end]))
        start = end
    return policies


def has_separable_features(player: Player) -> TypeGuard[NetworkPlayer]:
    """Return whether a player is a network in which each input feature depends on one part only.

    The two parts are the public state and the hand of the seat to act.
    """
    return (
        isinstance(player, NetworkPlayer)
        and player.net_config.features in SEPARABLE_FEATURES
        and type(player).action_probs is NetworkPlayer.action_probs
    )


@torch.no_grad()
def start_network_query(
    player: NetworkPlayer, state_tables: np.ndarray, hand_tables: np.ndarray
) -> Callable[[], np.ndarray]:
    """Start to compute the policy with each of R hands at each of D public states of one street.

    Args:
        player: a player for which `has_separable_features` is true, with one instance.
        state_tables: one table in each state, [D]; in all, the seat to act has the first hand.
        hand_tables: one table for each hand of the seat to act, [R], all in the first state.

    Returns:
        Function that waits for the probabilities and returns them, [D, R, A] float64. It raises
        NonFiniteProbsError if one of them is not finite.
    """
    device = next(player.module.parameters()).device
    state_features, hand_features = player.encoder(state_tables), player.encoder(hand_tables)
    depends_on_hand = (hand_features != hand_features[0]).any(0)
    state_features[:, depends_on_hand] = 0
    hand_features[:, ~depends_on_hand] = 0
    legal_masks = tables_from_records(player.game, state_tables).legal_mask()
    network_of_state = get_network_index(player.game, player.network_sharing, state_tables)
    hand_part = copy_to_device(hand_features, device)
    block_rows = CPU_BLOCK_ROWS if device.type == "cpu" else GPU_BLOCK_ROWS
    shape = len(state_tables), len(hand_tables), legal_masks.shape[1]
    probs = torch.empty(shape, dtype=torch.float64, device=device)
    for network in np.unique(network_of_state):
        states = np.flatnonzero(network_of_state == network)
        state_index = copy_to_device(states, device)
        state_part = copy_to_device(state_features[states], device)
        legal_mask = copy_to_device(legal_masks[states], device)[:, None]  # [D, 1, A]
        module = slice_replicas(player.module, slice(network, network + 1))
        block_size = max(1, block_rows // len(states))
        with use_full_precision():
            compute_outputs = _create_state_hand_forward(module, state_part, hand_part)
            for start in range(0, len(hand_tables), block_size):
                hands = slice(start, min(start + block_size, len(hand_tables)))
                mask = legal_mask.expand(-1, hands.stop - start, -1)
                block = player.compute_probs(compute_outputs(hands).double(), mask.flatten(0, 1))
                probs[:, hands].index_copy_(0, state_index, block.view(mask.shape))
    wait_for_probs = start_copy_to_host(probs)

    def get_probs() -> np.ndarray:
        host_probs = wait_for_probs()
        if not np.isfinite(host_probs.sum()):
            raise NonFiniteProbsError(player)
        return host_probs

    return get_probs


def _create_state_hand_forward(
    module: nn.Module, state_part: Tensor, hand_part: Tensor
) -> Callable[[slice], Tensor]:
    """Return a function that computes a network's outputs for all D states with n of R hands.

    That function takes a slice of n hands and returns [D * n, outputs]. The input for a state and a
    hand is the sum of their rows in `state_part` [D, inputs] and `hand_part` [R, inputs].
    """
    run_rest: Callable[[Tensor], Tensor] = module
    if isinstance(module, ReplicatedMLP):
        layers: list[Any] = list(module.layers)
        state_part = layers[0](state_part[None])[0]
        hand_part = layers[0](hand_part[None])[0] - layers[0].bias[0]
        activate = ACTIVATIONS[module.activation] if len(layers) > 1 else nn.Identity()

        def run_rest(x: Tensor) -> Tensor:
            outputs: Tensor = module(activate(x), layers=slice(1, None))
            return outputs

    def compute_outputs(hands: slice) -> Tensor:
        pair_sums = state_part[:, None] + hand_part[hands]
        return run_rest(pair_sums.flatten(0, 1)[None])[0]

    return compute_outputs
