"""Dense networks with a replica axis: K independent networks of equal size, run in one call.

Every parameter is [K, ...] and every input [K, B, in]; replica k reads input[k]. A hundred small
networks cost little more than one. Each has its own initial weights, gradient and clipping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Any, Literal

import torch
from torch import Tensor, nn

from poker_rl.config.input_checks import ConfigError, PositiveInt
from poker_rl.nets.legal_output_layer import LegalActions, compute_legal_logits
from poker_rl.nets.net_interfaces import Features, NetDimensions
from poker_rl.nets.sparse_inputs import SparseLinearFunction, find_nonzeros_if_sparse

InitScheme = Literal["orthogonal", "torch"]
ActivationName = Literal["relu", "tanh"]

# These overwrite the output of a linear layer, which nothing else reads.
ACTIVATIONS = {"relu": torch.relu_, "tanh": torch.tanh_}


@dataclass(kw_only=True, frozen=True)
class MLPConfig:
    """Settings of a multilayer perceptron (MLP); without hidden layers it is a linear map.

    `init: orthogonal` means orthogonal weights, with gain sqrt(2) in hidden layers and 1 in the
    output layer, and zero biases; `torch` means PyTorch's default, weights and biases uniform on
    [-1/sqrt(in), 1/sqrt(in)].
    """

    hidden_sizes: list[PositiveInt]
    activation: ActivationName
    init: InitScheme
    features: Features

    def build_module(self, dimensions: NetDimensions, generator: torch.Generator) -> nn.Module:
        widths = [dimensions.inputs, *self.hidden_sizes, dimensions.outputs]
        kind = dimensions.replicas, self.activation, self.init, generator
        return build_mlp(widths, *kind, output_scale=dimensions.output_init_scale)


class ReplicatedLinear(nn.Module):
    """K linear maps of B rows each, [K, B, in] -> [K, B, out].

    A layer that reads observations, which are often sparse, may skip zeros, see `sparse_inputs`. An
    inner layer, which is between hidden layers, may compute in bfloat16, see `precision`.
    """

    def __init__(
        self, inputs: int, outputs: int, replicas: int, *, reads_observations: bool, is_inner: bool
    ) -> None:
        super().__init__()
        self.reads_observations, self.is_inner = reads_observations, is_inner
        self.weight = nn.Parameter(torch.empty(replicas, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(replicas, 1, outputs))

    def initialize(
        self, init: InitScheme, gain: float, scale: float, generator: torch.Generator
    ) -> None:
        """Sample the initial weights, scaled by `scale` and, if they are orthogonal, by `gain`."""
        if init == "orthogonal":
            for weight in self.weight.detach():
                nn.init.orthogonal_(weight, gain * scale, generator=generator)
        else:
            bound = scale / sqrt(self.weight.shape[1])
            nn.init.uniform_(self.weight, -bound, bound, generator=generator)
            nn.init.uniform_(self.bias, -bound, bound, generator=generator)

    def forward(self, x: Tensor, legal: LegalActions | None = None) -> Tensor:
        """Return all outputs, [K, B, out], or only those of actions in `legal`, [K, B, L]."""
        if legal is not None:
            return compute_legal_logits(x.to(self.weight.dtype), self.weight, self.bias, legal)
        if self.reads_observations:
            nonzeros = find_nonzeros_if_sparse(x, self.weight)
            if nonzeros is not None:
                return SparseLinearFunction.apply(nonzeros, self.weight, self.bias)  # type: ignore[no-any-return,no-untyped-call]
        dtype = self.weight.dtype
        if self.is_inner and dtype == torch.float32:
            is_medium = torch.get_float32_matmul_precision() == "medium"  # see `precision`
            dtype = torch.bfloat16 if is_medium else dtype
        x, weight, bias = x.to(dtype), self.weight.to(dtype), self.bias.to(dtype)
        if weight.shape[0] == 1:  # addmm and its backward are a fifth faster than baddbmm
            return torch.addmm(bias.flatten(0, 1), x.flatten(0, 1), weight.flatten(0, 1))[None]
        return torch.baddbmm(bias, x, weight)


class ReplicatedMLP(nn.Module):
    """K multilayer perceptrons of one shape, [K, B, in] -> [K, B, out]."""

    def __init__(self, layers: list[ReplicatedLinear], activation: ActivationName) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.activation = activation
        self.dtype = layers[0].weight.dtype

    def forward(
        self, x: Tensor, legal: LegalActions | None = None, *, layers: slice = slice(None)
    ) -> Tensor:
        """Run the layers in `layers` on the input `x`; with `legal`, output legal actions only."""
        activate, all_layers = ACTIVATIONS[self.activation], list(self.layers)
        for layer in all_layers[layers]:
            x = layer(x, legal) if layer is all_layers[-1] else activate(layer(x))
        return x


def build_mlp(
    widths: Sequence[int],
    replicas: int,
    activation: ActivationName,
    init: InitScheme,
    generator: torch.Generator,
    *,
    output_scale: float = 1.0,
    reads_observations: bool = True,
    ends_in_outputs: bool = True,
) -> ReplicatedMLP:
    """Build K multilayer perceptrons; `widths` are the sizes of input, hidden layers and output.

    Unless `ends_in_outputs`, the last layer is a hidden layer of a larger network. The initial
    weights of an output layer are scaled by `output_scale`; see `MLPConfig` for `init`.
    """
    layers = []
    for i, in_out in enumerate(pairwise(widths)):
        is_first = reads_observations and i == 0
        is_output = ends_in_outputs and i == len(widths) - 2
        is_inner = not is_first and not is_output
        layer = ReplicatedLinear(*in_out, replicas, reads_observations=is_first, is_inner=is_inner)
        gain, scale = (1.0, output_scale) if is_output else (sqrt(2), 1.0)
        layer.initialize(init, gain, scale, generator)
        layers.append(layer)
    return ReplicatedMLP(layers, activation)


class NetworkPair(nn.Module):
    """Two networks that read the same inputs and may share their first `shared_layers` layers."""

    def __init__(self, first: nn.Module, second: nn.Module, shared_layers: int) -> None:
        super().__init__()
        self.nets, self.shared_layers = nn.ModuleList([first, second]), shared_layers
        if shared_layers:
            layers: list[Any] = [getattr(net, "layers", []) for net in self.nets]
            max_shared = max(min(map(len, layers)) - 1, 0)
            if shared_layers > max_shared:
                problem = f"{shared_layers} layers of networks with {max_shared} hidden ones"
                raise ConfigError(f"shared_layers: {problem}")
            for i in range(shared_layers):
                layers[1][i] = layers[0][i]

    def forward(self, x: Tensor, legal: LegalActions | None = None) -> tuple[Tensor, Tensor]:
        """Return both outputs, [K, B, out] each; with `legal`, that of `first` is [K, B, L]."""
        nets: Any = self.nets
        first, second = nets
        if not self.shared_layers:
            return compute_all_or_legal_logits(first, x, legal), second(x)
        x = first(x, layers=slice(self.shared_layers))
        own_layers = slice(self.shared_layers, None)
        return first(x, legal, layers=own_layers), second(x, layers=own_layers)


def compute_all_or_legal_logits(module: nn.Module, x: Tensor, legal: LegalActions | None) -> Any:
    """Return outputs for actions in `legal`, [K, B, L]; if it is None, for all, [K, B, A].

    For a `NetworkPair`, return its two outputs; `legal` then applies only to the first.
    """
    if legal is None:
        return module(x)
    if isinstance(module, ReplicatedMLP | NetworkPair):
        return module(x, legal)
    return legal.gather(module(x))
