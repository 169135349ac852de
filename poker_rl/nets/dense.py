"""Networks with a copies axis: K independent networks of one shape, run in one call.

Every parameter is [K, ...] and every input [K, B, in]; copy k sees block k. The copies are the
instances of an experiment times the members of a player, so one network costs what it always costs,
and a hundred small ones little more than one. Copies share nothing: initialisation, gradients and
gradient clipping are each copy's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from math import sqrt
from typing import Any, ClassVar, Literal, Protocol, Self

import torch
from torch import Tensor, nn

from poker_rl.config.classes import class_of
from poker_rl.config.settings import Count, NonNegative, Refused
from poker_rl.nets.legal import Legal, legal_logits
from poker_rl.nets.precision import halves
from poker_rl.nets.sparse import SumOfRows, places

FeatureKind = Literal[
    "observation", "sorted_suits", "rank", "infoset", "table", "history", "every_card"
]
Init = Literal["orthogonal", "torch"]
Activation = Literal["relu", "tanh"]

NO_STEPS = 0, 0  # of a history
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}
IN_PLACE = {"relu": torch.relu_, "tanh": torch.tanh_}


@dataclass(kw_only=True, frozen=True)
class Size:
    """How large networks are to be, whatever their shape: K copies, [K, B, inputs] -> outputs.

    `last_scale` multiplies the weights of the last layer as they are drawn. The first L x F inputs
    are a sequence of L steps of width F, oldest first, where `steps` is (L, F); a sequence that is
    shorter ends in zeros.
    """

    inputs: int
    outputs: int
    copies: int = 1
    last_scale: float = 1.0
    steps: tuple[int, int] = NO_STEPS


class Net(Protocol):
    """The shape of a network, as configured."""

    @property
    def features(self) -> FeatureKind:
        """What the network is shown."""

    @property
    def values(self) -> Net:
        """The shape of networks of values, if it is not that of policies."""

    def module(self, size: Size, generator: torch.Generator) -> nn.Module:
        """K networks of that size, [K, B, inputs] -> [K, B, outputs], drawn from `generator`."""


class SameForValues:
    """A shape whose networks of values are of the same shape as those of policies."""

    @property
    def values(self) -> Self:
        """The same."""
        return self


@dataclass(kw_only=True, frozen=True)
class MLP(SameForValues):
    """Fully connected layers of the widths in `hidden`; none makes a linear map.

    `orthogonal` draws weights with gain sqrt(2), 1 in the last layer, and biases 0; `torch` draws
    both from U(-1/sqrt(in), 1/sqrt(in)), PyTorch's default.
    """

    hidden: list[Count]
    activation: Activation
    init: Init
    features: FeatureKind

    def module(self, size: Size, generator: torch.Generator) -> nn.Module:
        """See `Net.module`."""
        widths = [size.inputs, *self.hidden, size.outputs]
        return dense(
            widths,
            size.copies,
            self.activation,
            self.init,
            generator,
            gain=1.0,
            scale=size.last_scale,
        )


@dataclass(kw_only=True, frozen=True)
class BetWeight(SameForValues):
    """One weight w an infoset: of two legal actions the aggressive one has chance sigmoid(w).

    The weights start uniform on [-spread, spread].
    """

    spread: NonNegative

    features: ClassVar[FeatureKind] = "infoset"

    def module(self, size: Size, generator: torch.Generator) -> nn.Module:
        """See `Net.module`; `last_scale` scales the spread.

        Raises:
            Refused: unless the outputs are the three actions fold, call, raise.
        """
        if size.outputs != 3:
            raise Refused(f"net: BetWeight has 3 outputs (fold, call, raise), not {size.outputs}")
        module = Bets(size.inputs, size.copies)
        spread = self.spread * size.last_scale
        nn.init.uniform_(module.weight, -spread, spread, generator=generator)
        return module


class Layer(nn.Module):
    """K linear maps, [K, B, in] -> [K, B, out].

    Args:
        observes: it is shown observations, which may be mostly zeros, see `sparse`.
        inner: it goes from one hidden layer to another: what is neither observed nor an output
            may be bfloat16, see `precision`.
    """

    def __init__(
        self, inputs: int, outputs: int, copies: int, *, observes: bool, inner: bool
    ) -> None:
        super().__init__()
        self.observes, self.inner = observes, inner
        self.weight = nn.Parameter(torch.empty(copies, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(copies, 1, outputs))

    def initialise(self, init: Init, gain: float, scale: float, generator: torch.Generator) -> None:
        """Draw each copy's weights by itself; `gain` is for orthogonal ones, `scale` for either."""
        if init == "orthogonal":
            for weight in self.weight.detach():
                nn.init.orthogonal_(weight, gain * scale, generator=generator)
        else:
            bound = scale / sqrt(self.weight.shape[1])
            nn.init.uniform_(self.weight, -bound, bound, generator=generator)
            nn.init.uniform_(self.bias, -bound, bound, generator=generator)

    def forward(self, x: Tensor, legal: Legal | None = None) -> Tensor:
        """[K, B, in] -> [K, B, out], of whole numbers too: zeros and ones, if they are uint8.

        With the legal actions of each row -> [K, B, L], the outputs of these alone.
        """
        if legal is not None:
            return legal_logits(x.to(self.weight.dtype), self.weight, self.bias, legal)
        if self.observes and (there := places(x, self.weight)) is not None:
            summed: Tensor = SumOfRows.apply(there, self.weight, self.bias)  # type: ignore[no-untyped-call]
            return summed
        half = self.inner and halves() and self.weight.dtype == torch.float32
        dtype = torch.bfloat16 if half else self.weight.dtype
        x, weight, bias = x.to(dtype), self.weight.to(dtype), self.bias.to(dtype)
        if weight.shape[0] == 1:  # a fifth faster, backward included
            return torch.addmm(bias.flatten(0, 1), x.flatten(0, 1), weight.flatten(0, 1))[None]
        return torch.baddbmm(bias, x, weight)


class Layers(nn.Module):
    """Linear maps with an activation between them."""

    def __init__(self, layers: list[Layer], activation: Activation) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.activation = activation
        self.dtype = layers[0].weight.dtype

    def forward(self, x: Tensor, legal: Legal | None = None) -> Tensor:
        """[K, B, in] -> [K, B, out], or [K, B, L] at the legal actions of each row alone."""
        return self.between(x, 0, len(self.layers), legal)

    def between(self, x: Tensor, start: int, stop: int, legal: Legal | None = None) -> Tensor:
        """What goes into layer `start` to what goes into layer `stop`, or comes out at the end."""
        layers = list(self.layers)
        activate = IN_PLACE[self.activation]  # what nobody else has seen
        for i, layer in enumerate(layers[start:stop], start):
            x = activate(layer(x)) if i + 1 < len(layers) else layer(x, legal)
        return x


def dense(
    widths: Sequence[int],
    copies: int,
    activation: Activation,
    init: Init,
    generator: torch.Generator,
    *,
    gain: float = sqrt(2),
    scale: float = 1.0,
    observes: bool = True,
    answers: bool = True,
) -> Layers:
    """New layers from each width to the next; gain (if orthogonal) and scale are the last one's.

    The first layer is shown observations, the last one gives outputs, unless it is said that they
    do not.
    """
    last = len(widths) - 2
    layers = []
    for i, size in enumerate(pairwise(widths)):
        first = observes and i == 0
        inner = not first and (i < last or not answers)
        layers.append(Layer(*size, copies, observes=first, inner=inner))
    for layer in layers[:-1]:
        layer.initialise(init, sqrt(2), 1.0, generator)
    layers[-1].initialise(init, gain, scale, generator)
    return Layers(layers, activation)


class Together(nn.Module):
    """Two networks that see the same, in one call: [K, B, in] -> [K, B, out + other's out].

    Args:
        one: the first network.
        other: the second; its first `shared` layers become those of the first.
        shared: number of layers both have in common, of those before the last one.

    Raises:
        Refused: if they have not that many.
    """

    def __init__(self, one: nn.Module, other: nn.Module, shared: int) -> None:
        super().__init__()
        self.nets, self.shared = nn.ModuleList([one, other]), shared
        if shared:
            layers: list[Any] = [net.layers if isinstance(net, Layers) else [] for net in self.nets]
            most = max(min(map(len, layers)) - 1, 0)
            if shared > most:
                raise Refused(f"shared: {shared} layers of networks with {most} hidden ones")
            for i in range(shared):
                layers[1][i] = layers[0][i]

    def forward(self, x: Tensor, legal: Legal | None = None) -> Tensor:
        """[K, B, in] -> [K, B, out + other's out]; with legal actions, L + other's out."""
        nets: Any = self.nets
        one, other = nets
        if not self.shared:
            return torch.cat([logits(one, x, legal), other(x)], -1)
        first = self.shared
        x = one.between(x, 0, first)
        said = one.between(x, first, len(one.layers), legal)
        return torch.cat([said, other.between(x, first, len(other.layers))], -1)


def logits(module: nn.Module, x: Tensor, legal: Legal | None) -> Tensor:
    """What a network says of its actions, [K, B, A], or of the legal ones alone, [K, B, L]."""
    if legal is None or isinstance(module, Layers | Together):
        said: Tensor = module(x) if legal is None else module(x, legal)
        return said
    return legal.pick(module(x))


class Bets(nn.Module):
    """One weight w an infoset, [K, I, 1]: logits -w, 0, w for fold, call, raise."""

    def __init__(self, infosets: int, copies: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(copies, infosets, 1))

    def forward(self, x: Tensor) -> Tensor:
        """One-hot infosets [K, B, I] -> [K, B, 3]."""
        w = torch.bmm(x.to(self.weight.dtype), self.weight)  # [K, B, 1]
        return torch.cat([-w, torch.zeros_like(w), w], -1)


@torch.no_grad()
def clip_gradients(module: nn.Module, most: float) -> Tensor:
    """Shrink each copy's gradient to a norm of at most `most`; returns the norms before, [K]."""
    grads = [weight.grad for weight in module.parameters() if weight.grad is not None]
    if len(grads[0]) == 1:
        parts = list(torch._foreach_norm(grads))  # one call: a tenth of a small net's step
    else:
        parts = [grad.flatten(1).norm(dim=1) for grad in grads]
    norms: Tensor = torch.stack(parts).norm(dim=0).view(-1)  # [K]
    scale = (most / (norms + 1e-6)).clamp(max=1)  # torch's clip_grad_norm_ adds the same
    torch._foreach_mul_(grads, [scale.view(-1, *[1] * (grad.dim() - 1)) for grad in grads])
    return norms


def net_state(net: Any) -> dict[str, Any]:
    """The settings of a network's shape as its YAML would have them."""
    kind = type(net)
    settings = {field.name: getattr(net, field.name) for field in fields(net)}
    return {"_target_": f"{kind.__module__}.{kind.__qualname__}"} | {
        name: net_state(value) if is_dataclass(value) else value for name, value in settings.items()
    }


def net_of(state: dict[str, Any]) -> Any:
    """The shape that `net_state` tells of, and those in it.

    Raises:
        Refused: if it names no class of this program or of an installed plug-in.
    """
    settings = {
        key: net_of(value) if isinstance(value, dict) else value
        for key, value in state.items()
        if key != "_target_"
    }
    return class_of(state["_target_"])(**settings)
