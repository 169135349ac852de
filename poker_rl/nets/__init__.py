"""Networks with a replica axis [K, ...], encoders of their inputs, and fast layers for CPUs.

In shapes, K counts replicas (independent networks with equal layer sizes), B the rows of each
replica, W inputs and A actions. L is the length of the longest list of legal actions; for sequences
it is the number of steps, each with F features.
"""

from poker_rl.nets.action_probs import masked_log_softmax, masked_softmax
from poker_rl.nets.amount_net import AmountNetConfig
from poker_rl.nets.dense import MLPConfig
from poker_rl.nets.history_net import HistoryNetConfig
from poker_rl.nets.net_interfaces import FeatureEncoder, NetConfig, NetDimensions
from poker_rl.nets.weight_ema import WeightEMA

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
