"""LSTMs with a replica axis that return their state at the end of sequences.

Hands at many tables begin with the same actions, so a CPU processes each distinct prefix once. On a
GPU PyTorch's LSTM processes all steps of all sequences, padding included: more arithmetic, but the
same work for any data, so a CUDA graph can record it.
"""

from __future__ import annotations

from math import sqrt

import torch
from torch import Tensor, nn

from poker_rl.nets.lstm_prefix_tree import run_prefix_lstm

MAX_ROWS = 2**15  # sequences in one call of PyTorch's LSTM: about 2 GB for 48 steps and 64 units


class ReplicatedLSTM(nn.Module):
    """K LSTMs that return their state at the end of sequences, [K, B, L * F] -> [K, B, units].

    A sequence ends after its last step that is not all zeros; an empty one has one step of zeros.
    Weights and biases are initialized uniformly on [-1/sqrt(units), 1/sqrt(units)], as in PyTorch.
    """

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
        if not x.shape[1]:  # empty output, from which all weights get the gradient 0
            x = x[..., : self.history_shape[1]]
            gates = torch.baddbmm(self.bias[:, None], x, self.weight_ih)
            return torch.bmm(gates[..., : self.units], self.weight_hh)[..., : self.units]
        if x.device.type == "cpu" and x.dtype == self.weight_hh.dtype == torch.float32:
            weights = self.weight_ih, self.weight_hh, self.bias
            shape = len(x), -1, *self.history_shape
            states = [
                run_prefix_lstm(*parts) for parts in zip(x.view(shape), *weights, strict=True)
            ]
        else:
            # By default cuDNN uses TF32 in LSTMs; here only if matrix products may use it.
            torch.backends.cudnn.allow_tf32 = torch.get_float32_matmul_precision() != "highest"
            states = []
            for k, torch_weights in enumerate(self._build_torch_lstm_weights()):
                chunks = torch.split(x[k].view(-1, *self.history_shape), MAX_ROWS)
                states.append(torch.cat([_run_all_steps(chunk, torch_weights) for chunk in chunks]))
        return torch.stack(states)

    def _build_torch_lstm_weights(self) -> list[list[Tensor]]:
        """Return the weights of each replica in the layout of `torch.lstm`.

        The gates are rows, the cell candidate comes before the output gate, and there is a second
        bias, here 0. All are views of one buffer; otherwise PyTorch would warn and copy them.
        """
        units, features = self.units, self.history_shape[1]
        bias = self.bias[:, None]
        weights = torch.cat([self.weight_ih, self.weight_hh, bias, torch.zeros_like(bias)], 1)
        input_forget, output, candidate = torch.split(weights, [2 * units, units, units], 2)
        rows = torch.cat([input_forget, candidate, output], 2).mT  # [K, 4 * units, F + units + 2]
        flat_parts = [part.flatten(1) for part in torch.split(rows, [features, units, 1, 1], 2)]
        sizes = [part.shape[1] for part in flat_parts]
        shapes = (4 * units, features), (4 * units, units), (4 * units,), (4 * units,)
        buffers = [row.clone() for row in torch.cat(flat_parts, 1)]
        return [list(map(Tensor.view, torch.split(buffer, sizes), shapes)) for buffer in buffers]


def _run_all_steps(x: Tensor, weights: list[Tensor]) -> Tensor:
    """Return the states at the end of sequences, [B, L, F] -> [B, units]; drop those in padding."""
    units = weights[1].shape[1]
    step_numbers = torch.arange(x.shape[1], device=x.device)
    last_step = (x.any(2) * step_numbers).amax(1)  # [B]; 0 for empty sequences
    zeros = x.new_zeros(1, len(x), units)  # initial state and cell
    states, _, _ = torch.lstm(
        x.transpose(0, 1),
        (zeros, zeros),
        weights,
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=torch.is_grad_enabled(),  # if True, cuDNN stores what backward needs
        bidirectional=False,
        batch_first=False,
    )  # [L, B, units]
    return states.gather(0, last_step[None, :, None].expand(1, -1, units))[0]
