"""Loss of PPO (the formula is in `ppo`), its metrics, and the inputs of networks and loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from poker_rl.learning.advantages import normalize_advantages
from poker_rl.learning.fixed_length_rollout import FixedLengthBatch
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.nets.action_probs import masked_expectation, masked_log_softmax, masked_softmax
from poker_rl.nets.legal_output_layer import LegalActions, list_legal_actions_if_few

METRIC_TAGS = (
    "loss/policy",
    "loss/value",
    "policy/entropy",
    "policy/approx_kl",
    "policy/clip_fraction",
    "gradient/norm",
)
# Columns of a minibatch; the last three are absent if no setting needs them.
LOSS_COLUMNS = "mask", "action", "log_prob", "advantage", "target", "old", "old_value", "same_type"


class NetworkAndLossInputs:
    """Inputs of the networks and of the loss for N cells [row, table] of a `FixedLengthBatch`.

    On a CPU these are the cells with a decision. On a GPU they are all cells of the batch, in
    tensors that keep their addresses, as CUDA graphs require.

    Attributes:
        cells: index of each of the N cells in the flattened batch, [N]; a slice of all on a GPU.
        actor_inputs, critic_inputs: inputs of the networks.
        columns: tensors by name, [N, ...] each.
    """

    def __init__(self, services: LearnerServices, batch: FixedLengthBatch) -> None:
        self._services, self._batch = services, batch
        self.cells: Tensor | slice = slice(None)
        self.columns: dict[str, Tensor] = {}
        self._is_on_cpu = services.device.type == "cpu"
        columns = map(self.gather_cells, (batch.observation, batch.hidden_cards))
        self.actor_inputs, self.critic_inputs = services.build_actor_and_critic_inputs(*columns)

    def gather_cells(self, column: Tensor) -> Tensor:
        """Return a column of the batch at the N cells, [rows, tables, ...] -> [N, ...]."""
        return column.flatten(0, 1)[self.cells]

    def update_network_inputs(self) -> None:
        """Set `cells` and the inputs of the networks from the batch, after it has changed."""
        batch, width = self._batch, self._services.input_size
        if self._is_on_cpu:
            self.cells = batch.is_decision.flatten().nonzero()[:, 0]
            columns = map(self.gather_cells, (batch.observation, batch.hidden_cards))
            arrays = (column.numpy() for column in columns)
            self.actor_inputs, self.critic_inputs = self._services.build_actor_and_critic_inputs(
                *arrays
            )
        elif self._services.hidden_card_size:
            # Critic inputs are copies of the batch; actor inputs are views, and so up to date.
            self.critic_inputs.rows[:, :width] = self.gather_cells(batch.observation)
            self.critic_inputs.rows[:, width:] = self.gather_cells(batch.hidden_cards)

    def set_columns(self, columns: dict[str, Tensor]) -> None:
        """Set the columns to new values.

        On a CPU, if few of the A actions are legal, columns [N, A] become [N, L], with an entry for
        each of the at most L legal actions. `action` then has positions among the legal actions.
        """
        if self._is_on_cpu:
            legal = list_legal_actions_if_few(columns["mask"].numpy(), self._services.device)
            if legal is not None:
                names = columns.keys() & {"old", "same_type"}
                columns |= {name: legal.gather(columns[name]) for name in names}
                columns |= {"mask": legal.non_padding_mask, "legal": legal.actions}
                columns |= {"action": legal.to_position(columns["action"]), "count": legal.counts}
            self.columns = columns
        for name, values in columns.items():
            if self.columns.setdefault(name, values) is not values:
                self.columns[name].copy_(values)

    def select_rows(self, index: Tensor) -> tuple[dict[str, Tensor], LegalActions | None]:
        """Return LOSS_COLUMNS at rows `index`, and legal actions (None if columns are [N, A])."""
        rows = {name: self.columns[name][index] for name in LOSS_COLUMNS if name in self.columns}
        if "legal" not in self.columns:
            return rows, None
        return rows, LegalActions(self.columns["legal"][index], self.columns["count"][index])


def compute_loss_and_metrics(
    logits: Tensor,
    value: Tensor,
    minibatch: Mapping[str, Tensor],
    row_weight: Tensor,
    coefs: Mapping[str, Tensor],
    value_coef: float,
    normalizes_advantages: bool,
) -> tuple[Tensor, Tensor]:
    """Return the loss [], summed over replicas, and METRIC_TAGS without the gradient norm, [5].

    Args:
        logits: outputs of the actor for K replicas, B rows of each, and A actions, [K, B, A], or
            only for at most L legal actions of each row, [K, B, L].
        value: output of the critic, [K, B].
        minibatch: LOSS_COLUMNS of rows, [K, B, ...] each; with "same_type", the entropy bonus is
            that of `entropy_over: action_types`; with "old_value", the value loss is clipped.
        row_weight: weight of each row in its replica's mean, [K, B].
        coefs: current values of `clip_coef` and `entropy_coef`, and of `kl_old_coef` and
            `log_barrier_coef` if they are not None.
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
    if "log_barrier_coef" in coefs:
        mean_log_prob = torch.where(mask, log_policy, 0.0).sum(2) / mask.sum(2)
        actor_loss = actor_loss - coefs["log_barrier_coef"] * mean_log_prob

    value_loss = (value - minibatch["target"]).square()
    if "old_value" in minibatch:
        change = (value - minibatch["old_value"]).clamp(-clip_coef, clip_coef)
        clipped_value = minibatch["old_value"] + change
        value_loss = torch.max(value_loss, (clipped_value - minibatch["target"]).square())

    loss = (row_weight * (actor_loss + value_coef / 2 * value_loss)).sum()
    with torch.no_grad():
        kl = ratio - 1 - log_ratio  # estimate of KL(behavior policy, pi) from the action taken
        is_clipped = ((ratio - 1).abs() > clip_coef).float()
        metrics = torch.stack([-surrogate, value_loss / 2, entropy, kl, is_clipped])
        return loss, (metrics * row_weight).sum((1, 2)) / len(row_weight)


def compute_explained_variance(advantage: Tensor, value: Tensor, is_used: Tensor) -> Tensor:
    """Return the share of the variance of targets (advantage + value) that values explain, [1].

    The variance is over the rows with `is_used` among N rows; all arguments are [N].
    """
    weight = is_used / is_used.sum().clamp(min=1)

    def compute_variance(numbers: Tensor) -> Tensor:
        return (weight * (numbers - (weight * numbers).sum()).square()).sum(0, keepdim=True)

    target_variance = compute_variance(advantage + value)
    return 1 - compute_variance(advantage) / target_variance.clamp(min=1e-8)


def build_same_type_matrix(action_types: np.ndarray, device: torch.device) -> Tensor | None:
    """Return a matrix [A, A]: 1 for two actions of one type, else 0; None if all types differ."""
    is_same_type = action_types[:, None] == action_types
    if is_same_type.sum() == len(action_types):
        return None
    return torch.from_numpy(is_same_type.astype(np.float32)).to(device)
