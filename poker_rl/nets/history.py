"""Networks that read the actions of a hand in their order, K copies of them as in `nets`.

What lies on the table goes through dense layers, the actions so far go through an LSTM (Hochreiter
& Schmidhuber 1997), and one more layer sees both. So do the actor and the critic of APU, a
published method for six-player hold'em (docs/results/apu.md). Two variants show what the LSTM
is good for: they have a dense layer or nothing in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

import torch
from torch import Tensor, nn

from poker_rl.config.settings import Count, Refused
from poker_rl.nets.dense import (
    ACTIVATIONS,
    Activation,
    FeatureKind,
    Init,
    Layers,
    SameForValues,
    Size,
    dense,
)
from poker_rl.nets.lstm import LSTM


@dataclass(kw_only=True, frozen=True)
class HistoryNet(SameForValues):
    """Dense layers of the widths in `hidden` beside a reader of the history; a layer sees both.

    The reader is an LSTM, or a dense layer over all steps at once (`fc`), of `units` each, or
    `none`.
    """

    history: Literal["lstm", "fc", "none"]
    units: Count
    hidden: list[Count]
    merged: Count
    activation: Activation
    init: Init

    @property
    def features(self) -> FeatureKind:
        """The steps and what lies on the table; the table alone if nothing reads the steps."""
        return "table" if self.history == "none" else "history"

    def module(self, size: Size, generator: torch.Generator) -> nn.Module:
        """See `Net.module`.

        Raises:
            Refused: without a dense layer.
        """
        if not self.hidden:
            raise Refused("net.hidden: at least one width")

        steps = prod(size.steps)

        def layers(*widths: int) -> Layers:
            return dense(widths, size.copies, self.activation, self.init, generator, answers=False)

        reader: nn.Module | None = None
        if self.history == "lstm":
            reader = LSTM(size.steps, self.units, size.copies, generator)
        elif self.history == "fc":
            reader = layers(steps, self.units)
        table = layers(size.inputs - steps, *self.hidden)
        units = 0 if reader is None else self.units
        widths = [self.hidden[-1] + units, self.merged, size.outputs]
        head = dense(
            widths,
            size.copies,
            self.activation,
            self.init,
            generator,
            gain=1.0,
            scale=size.last_scale,
            observes=False,
        )
        return Reading(steps, table, reader, head)


class Reading(nn.Module):
    """A reader of the first `steps` inputs and layers for the others, then layers that see both."""

    def __init__(self, steps: int, table: Layers, reader: nn.Module | None, head: Layers) -> None:
        super().__init__()
        self.steps, self.table, self.reader, self.head = steps, table, reader, head

    def forward(self, x: Tensor) -> Tensor:
        """[K, B, in] -> [K, B, out]."""
        x = x.to(self.table.dtype)
        activation = ACTIVATIONS[self.table.activation]
        parts = [activation(self.table(x[..., self.steps :]))]
        if self.reader is not None:
            read = self.reader(x[..., : self.steps])
            parts.append(read if isinstance(self.reader, LSTM) else activation(read))
        out: Tensor = self.head(torch.cat(parts, -1))
        return out
