"""The learners and solvers, a file each, which reads like the box of its paper.

Imports config, games, learning, nets and players. Learners import each other only where one builds
on another, as fictitious self-play does on Q-learning.
"""

from poker_rl.algos.actor_critic import ActorCritic
from poker_rl.algos.algorithm import Algorithm, NetworkLearner, Progress
from poker_rl.algos.apu import APU
from poker_rl.algos.cfr import CFR
from poker_rl.algos.dqn import DQN
from poker_rl.algos.load import load_algorithm
from poker_rl.algos.mccfr import MCCFR
from poker_rl.algos.nfsp import NFSP
from poker_rl.algos.nfsp_ppo import PolicyNFSP
from poker_rl.algos.ppo import PPO
from poker_rl.algos.reinforce import Reinforce
from poker_rl.algos.vpg import VPG

__all__ = [
    "APU",
    "CFR",
    "DQN",
    "MCCFR",
    "NFSP",
    "PPO",
    "VPG",
    "ActorCritic",
    "Algorithm",
    "NetworkLearner",
    "PolicyNFSP",
    "Progress",
    "Reinforce",
    "load_algorithm",
]
