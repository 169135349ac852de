"""Policy of a network player with every hand of a range, at many public states together.

Every input feature of poker depends either on the public state or on the hand of the seat to act.
So D states and R hands need only D + R encodings instead of D * R. The first layer is linear and is
also computed once for each state and once for each hand; the two outputs are added for each pair of
a state and a hand. A GPU computes while the CPU evaluates other boards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.games.tables import tables_from_records
from poker_rl.nets.dense import IN_PLACE_ACTIVATIONS, ReplicatedMLP
from poker_rl.nets.precision import use_full_precision
from poker_rl.nets.replicas import view_replicas
from poker_rl.players.network_player import NetworkPlayer, get_network_index
from poker_rl.players.player import NonFiniteProbsError, Player, get_class_path

SEPARABLE_FEATURES = ("observation", "sorted_suits", "log_chips", "rank", "table", "history")
CPU_BLOCK_ROWS = 4096  # rows per forward pass, so that activations fit in the cache
GPU_BLOCK_ROWS = 65_536  # with fewer rows, launching a GPU kernel takes longer than running it


def has_separable_features(player: Player) -> TypeGuard[NetworkPlayer]:
    """Return whether each input feature depends only on the public state or only on the hand."""
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
        player: a player with separable features, whose `instance_count` is 1.
        state_tables: tables in the states, [D]; in all of them the seat to act has the first hand.
        hand_tables: tables in the first state, [R], one for each hand of the seat to act.

    Returns:
        Function that waits for the probabilities and returns them, [D, R, A] float64. It raises
        NonFiniteProbsError if a probability is not finite.
    """
    device = next(player.module.parameters()).device
    state_features, hand_features = player.encoder(state_tables), player.encoder(hand_tables)
    depends_on_hand = (hand_features != hand_features[0]).any(0)
    state_features[:, depends_on_hand] = 0
    hand_features[:, ~depends_on_hand] = 0
    legal_masks = tables_from_records(player.game, state_tables).legal_mask()
    network_of_state = get_network_index(player.game, player.network_sharing, state_tables)
    hand_part = _copy_to_device(hand_features, device)
    block_rows = CPU_BLOCK_ROWS if device.type == "cpu" else GPU_BLOCK_ROWS
    shape = len(state_tables), len(hand_tables), legal_masks.shape[1]
    probs = torch.empty(shape, dtype=torch.float64, device=device)
    for network in np.unique(network_of_state):
        states = np.flatnonzero(network_of_state == network)
        state_index = _copy_to_device(states, device)
        state_part = _copy_to_device(state_features[states], device)
        legal_mask = _copy_to_device(legal_masks[states], device)[:, None]  # [D, 1, A]
        module = view_replicas(player.module, slice(network, network + 1))
        block_size = max(1, block_rows // len(states))
        with use_full_precision():
            compute_outputs = _split_forward(module, state_part, hand_part)
            for start in range(0, len(hand_tables), block_size):
                hands = slice(start, min(start + block_size, len(hand_tables)))
                mask = legal_mask.expand(-1, hands.stop - start, -1)
                block = player.compute_probs(compute_outputs(hands).double(), mask.flatten(0, 1))
                probs[:, hands].index_copy_(0, state_index, block.view(mask.shape))
    wait_for_probs = _start_copy_to_host(probs)

    def get_probs() -> np.ndarray:
        host_probs = wait_for_probs()
        if not np.isfinite(host_probs.sum()):
            raise NonFiniteProbsError(f"the player {get_class_path(player)}")
        return host_probs

    return get_probs


def _split_forward(
    module: nn.Module, state_part: Tensor, hand_part: Tensor
) -> Callable[[slice], Tensor]:
    """Return a function that computes the outputs [D * n, out] for all states and a slice of hands.

    The input for a state and a hand is the sum of their rows in `state_part` [D, in] and
    `hand_part` [R, in].
    """
    run_rest: Callable[[Tensor], Tensor] = module
    if isinstance(module, ReplicatedMLP):
        layers: list[Any] = list(module.layers)
        state_part = layers[0](state_part[None])[0]
        hand_part = layers[0](hand_part[None])[0] - layers[0].bias[0]

        def run_rest(x: Tensor) -> Tensor:
            if len(layers) > 1:
                x = IN_PLACE_ACTIVATIONS[module.activation](x)
            return module.forward_between(x, 1, len(layers))

    def compute_outputs(hands: slice) -> Tensor:
        pair_sums = state_part[:, None] + hand_part[hands]
        return run_rest(pair_sums.flatten(0, 1)[None])[0]

    return compute_outputs


def _copy_to_device(array: np.ndarray, device: torch.device) -> Tensor:
    """Copy an array to a device; the copy to a GPU is asynchronous."""
    tensor = torch.from_numpy(array)
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


def _start_copy_to_host(tensor: Tensor) -> Callable[[], np.ndarray]:
    """Start to copy a tensor to the CPU; return a function that waits and returns the array."""
    if tensor.device.type != "cuda":
        return lambda: tensor.cpu().numpy()
    host_copy = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    host_copy.copy_(tensor, non_blocking=True)
    is_copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
    is_copied.record()

    def wait_for_copy() -> np.ndarray:
        is_copied.synchronize()
        return host_copy.numpy()

    return wait_for_copy
