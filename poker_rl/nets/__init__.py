"""Networks with a replica axis [K, ...], encoders of their inputs, and fast layers for CPUs.

Shapes: K replicas, which are independent networks of one shape, B rows of each replica, A actions,
L legal actions with padding, W inputs; in sequences, L steps of F features.
"""

from poker_rl.nets.action_probs import masked_log_softmax, masked_softmax
from poker_rl.nets.amount_net import AmountNetConfig
from poker_rl.nets.dense import MLPConfig
from poker_rl.nets.history_net import HistoryNetConfig
from poker_rl.nets.net_interface import FeatureEncoder, NetConfig, NetDimensions
from poker_rl.nets.replicas import WeightEMA

__all__ = [
    "AmountNetConfig",
    "FeatureEncoder",
    "HistoryNetConfig",
    "MLPConfig",
    "NetConfig",
    "NetDimensions",
    "WeightEMA",
    "masked_log_softmax",
    "masked_softmax",
]
