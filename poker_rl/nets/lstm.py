"""LSTMs with a replica axis that process each distinct prefix of a batch of sequences once.

Hands at many tables begin with the same actions: 512 hands of six players, with seven actions each,
have 3,700 prefixes, of which 1,400 are distinct. On a CPU a compiled loop runs over the tree of
prefixes; on a GPU PyTorch processes all prefixes of one length at a time.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import torch
from torch import Tensor, nn

from poker_rl.nets.lstm_kernels import PrefixLSTMFunction, build_prefix_tree


class ReplicatedLSTM(nn.Module):
    """K LSTMs that return their state at the end of sequences, [K, B, L * F] -> [K, B, units].

    A sequence ends after its last step that is not all zeros; an empty one counts as one step of
    zeros. Weights and biases are initialized uniformly on [-1/sqrt(units), 1/sqrt(units)], as in
    PyTorch.
    """

    is_graphable = False  # the kernel launches depend on the data, which a CUDA graph cannot record

    def __init__(
        self, history_shape: tuple[int, int], units: int, replicas: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.history_shape, self.units = history_shape, units
        gates = 4 * units  # input, forget and output gate, cell candidate
        self.weight_ih = nn.Parameter(torch.empty(replicas, history_shape[1], gates))
        self.weight_hh = nn.Parameter(torch.empty(replicas, units, gates))
        self.bias = nn.Parameter(torch.empty(replicas, gates))
        for weight in self.parameters():
            nn.init.uniform_(weight, -1 / sqrt(units), 1 / sqrt(units), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """Return the states at the end of sequences, [K, B, L * F] -> [K, B, units]."""
        if not x.shape[1]:  # an empty output that still depends on the weights, with gradient 0
            gates = torch.baddbmm(
                self.bias[:, None], x[..., : self.history_shape[1]], self.weight_ih
            )
            return torch.bmm(gates[..., : self.units], self.weight_hh)[..., : self.units]
        use_kernels = x.device.type == "cpu" and x.dtype == self.weight_hh.dtype == torch.float32
        run_lstm = self._run_prefix_tree if use_kernels else self._run_by_length
        return torch.stack([run_lstm(x[k].view(-1, *self.history_shape), k) for k in range(len(x))])

    def _run_prefix_tree(self, x: Tensor, k: int) -> Tensor:
        """Run replica k over the tree of prefixes of sequences, [B, L, F] -> [B, units]."""
        last_step, parent, level_ends, prefix_of_sequence = build_prefix_tree(x)
        weights = self.weight_ih[k], self.weight_hh[k], self.bias[k]
        states: Tensor = PrefixLSTMFunction.apply(last_step, parent, level_ends, *weights)  # type: ignore[no-untyped-call]
        return states.index_select(0, prefix_of_sequence)

    def _run_by_length(self, x: Tensor, k: int) -> Tensor:
        """Run replica k over all prefixes of one length at a time, [B, L, F] -> [B, units]."""
        step_numbers = torch.arange(1, self.history_shape[0] + 1, device=x.device)
        lengths = (x.any(2) * step_numbers).amax(1).clamp(min=1)  # [B]
        x = x[:, : int(lengths.max())]
        levels = group_prefixes_by_length(x, lengths)
        counts = [len(parent) for parent in levels.parent]
        gates = torch.addmm(self.bias[k], x.flatten(0, 1)[levels.last_step], self.weight_ih[k])
        state = cell = x.new_zeros(1, self.units)
        states = []
        for gate, parent in zip(torch.split(gates, counts), levels.parent, strict=True):
            all_gates = torch.addmm(gate, state.index_select(0, parent), self.weight_hh[k])
            sigmoid_gates, new_content = torch.split(all_gates, [3 * self.units, self.units], 1)
            input_gate, forget_gate, output_gate = sigmoid_gates.sigmoid().chunk(3, 1)
            cell = forget_gate * cell.index_select(0, parent) + input_gate * new_content.tanh()
            state = output_gate * cell.tanh()
            states.append(state)
        return torch.cat(states).index_select(0, levels.prefix_of_sequence)


class PrefixLevels(NamedTuple):
    """The N distinct prefixes of a batch of sequences, ordered by length."""

    last_step: Tensor  # index of each prefix's last step among the B * L steps, [N]
    parent: list[Tensor]  # per length: index of each prefix's parent among those one step shorter
    prefix_of_sequence: Tensor  # index of the prefix that is the whole of each sequence, [B]


def group_prefixes_by_length(x: Tensor, lengths: Tensor) -> PrefixLevels:
    """Return the distinct prefixes of sequences [B, L, F] with lengths [B].

    Prefixes are compared by a hash of at least 50 bits; a collision would merge two of them.
    """
    rows, size, width = x.shape
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(width, generator=generator, dtype=torch.float64)
    factors = torch.randint(2**62, (size,), generator=generator) | 1
    # Multiply-shift hashing (Dietzfelbinger et al. 1997): the hash of a step is the bit pattern of
    # a random weighted sum of its features times an odd number that depends on its position, and
    # the hash of a prefix is the top bits of the sum over its steps. Sort keys have the length of
    # the prefix above these bits.
    step_hashes = (x.double() @ weights.to(x.device)).view(torch.int64) * factors.to(x.device)
    position = torch.arange(size, device=x.device)
    hash_bits = 63 - size.bit_length()
    prefix_hashes = (step_hashes.cumsum(1) >> (64 - hash_bits)) & (2**hash_bits - 1)
    sort_keys = (position << hash_bits) + prefix_hashes  # [B, L]

    steps = (position < lengths[:, None]).flatten().nonzero()[:, 0]  # indices without padding
    ordered, order = sort_keys.flatten()[steps].sort()
    is_new = torch.ones_like(order, dtype=torch.bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    prefix = order.new_zeros(rows * size)  # index of the prefix that ends with each step
    prefix[steps[order]] = is_new.cumsum(0) - 1

    last_step = steps[order[is_new]]
    length = last_step % size  # length of each prefix minus one
    counts = length.bincount()
    first = counts.cumsum(0) - counts
    parent = torch.where(length > 0, prefix[last_step - 1] - first[length - 1], 0)
    prefix_of_sequence = prefix.view(rows, size).gather(1, lengths[:, None] - 1)[:, 0]
    return PrefixLevels(last_step, list(torch.split(parent, counts.tolist())), prefix_of_sequence)
