"""Loss of PPO, whose formula is in `ppo`, and its metrics."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from poker_rl.learning.advantages import normalize_advantages
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax, masked_softmax

METRIC_TAGS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
    "gradient/norm",
)


def compute_ppo_loss(
    logits: Tensor,
    value: Tensor,
    minibatch: Mapping[str, Tensor],
    row_weight: Tensor,
    coefs: Mapping[str, Tensor],
    value_coef: float,
    normalizes_advantages: bool,
) -> tuple[Tensor, Tensor]:
    """Return the loss, and the metrics of METRIC_TAGS without the gradient norm, [5].

    Args:
        logits: outputs of the actor, [K, B, A], or [K, B, L] for legal actions only.
        value: output of the critic, [K, B].
        minibatch: rows of the tensors that `PPO._compute_loss_inputs` sets, [K, B, ...] each; with
            "same_type", the entropy bonus is that of `entropy_over: action_types`, and with
            "value", the value loss is clipped.
        row_weight: weight of each row in its replica's mean, [K, B].
        coefs: current values of `clip_coef`, `entropy_coef` and perhaps `kl_old_coef`.
    """
    clip_coef, mask = coefs["clip_coef"], minibatch["mask"]
    log_policy = masked_log_softmax(logits, mask)  # [K, B, A]
    policy = masked_softmax(logits, mask)  # log_policy.exp() is slow when values underflow
    log_prob = log_policy.gather(2, minibatch["action"][..., None])[..., 0]  # [K, B]
    log_ratio = log_prob - minibatch["log_prob"]
    ratio = log_ratio.exp()
    advantage = minibatch["advantage"]
    if normalizes_advantages:
        advantage = normalize_advantages(advantage, row_weight)
    clipped_ratio = ratio.clamp(1 - clip_coef, 1 + clip_coef)
    surrogate = torch.min(ratio * advantage, clipped_ratio * advantage)
    entropy = -masked_expectation(policy, log_policy, mask)
    entropy_bonus = entropy
    if "same_type" in minibatch:
        entropy_bonus = entropy + (policy * minibatch["same_type"]).sum(2)
    actor_loss = -surrogate - coefs["entropy_coef"] * entropy_bonus
    if "kl_old_coef" in coefs:
        kl_old = masked_expectation(policy, log_policy - minibatch["old"], mask)
        actor_loss = actor_loss + coefs["kl_old_coef"] * kl_old

    value_loss = (value - minibatch["target"]).square()
    if "value" in minibatch:
        change = (value - minibatch["value"]).clamp(-clip_coef, clip_coef)
        clipped_value = minibatch["value"] + change
        value_loss = torch.max(value_loss, (clipped_value - minibatch["target"]).square())

    loss = (row_weight * (actor_loss + value_coef / 2 * value_loss)).sum()
    with torch.no_grad():
        kl = ratio - 1 - log_ratio  # estimate of KL(behavior policy, pi) from the action taken
        is_clipped = ((ratio - 1).abs() > clip_coef).float()
        metrics = torch.stack([-surrogate, value_loss / 2, entropy, kl, is_clipped])
        return loss, (metrics * row_weight).sum((1, 2)) / len(row_weight)


def compute_explained_variance(advantage: Tensor, value: Tensor, is_used: Tensor) -> Tensor:
    """Return the share of the targets' variance that the values explain, at the used rows, [1]."""
    weight = is_used / is_used.sum().clamp(min=1)

    def compute_variance(numbers: Tensor) -> Tensor:
        return (weight * (numbers - (weight * numbers).sum()).square()).sum(0, keepdim=True)

    target_variance = compute_variance(advantage + value)
    return 1 - compute_variance(advantage) / target_variance.clamp(min=1e-8)


def build_same_type_matrix(action_types: np.ndarray, device: torch.device) -> Tensor | None:
    """Return a matrix [A, A] with 1 for actions of equal type; None if all types differ."""
    is_same_type = action_types[:, None] == action_types
    if is_same_type.sum() == len(action_types):
        return None
    return torch.from_numpy(is_same_type.astype(np.float32)).to(device)
