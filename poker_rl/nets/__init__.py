"""Networks with a copies axis, by shape: dense layers, readers of a history, densities of amounts.

Imports config.
"""

from poker_rl.nets.amounts import AmountNet
from poker_rl.nets.chances import masked_log_softmax, masked_softmax
from poker_rl.nets.dense import MLP, Net, Size
from poker_rl.nets.history import HistoryNet
from poker_rl.nets.weight_average import WeightAverage

__all__ = [
    "MLP",
    "AmountNet",
    "HistoryNet",
    "Net",
    "Size",
    "WeightAverage",
    "masked_log_softmax",
    "masked_softmax",
]
