"""Several networks of one learner that choose actions; a GPU runs them all in one CUDA graph."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from poker_rl.learning.cuda_graphs import CapturedStep
from poker_rl.learning.learner_services import LearnerServices
from poker_rl.learning.rollout import DecisionsToMake


class ActingNetworks:
    """Networks of a learner, such as best response and average policy; each decision uses one.

    `modules` are the networks, of K replicas each. A GPU runs all replicas of all networks for all
    tables and selects the outputs that are needed. A CPU runs each network only for its decisions.
    """

    def __init__(self, modules: Sequence[nn.Module], services: LearnerServices) -> None:
        self._modules, self._services = modules, services
        self._captured_step: CapturedStep | None = None
        if services.device.type != "cpu":
            rows = len(services.rollout.agent_of_seat)
            self._observation = torch.zeros(
                rows, services.input_size, dtype=services.input_dtype, device=services.device
            )
            # The network and replica that compute each row: index of the network x K + replica.
            self._source = torch.zeros(rows, dtype=torch.int64, device=services.device)
            self._outputs = torch.zeros(rows, services.game.action_count, device=services.device)
            self._captured_step = CapturedStep(self._fill_outputs, services.device)

    @torch.no_grad()
    def compute_outputs(self, decisions: DecisionsToMake, network_index: np.ndarray) -> np.ndarray:
        """Return outputs [B, A] float32; `modules[network_index[i]]` computes decision i of B."""
        if self._captured_step is not None:
            count = len(network_index)
            source = network_index * self._services.replicas + decisions.replica
            self._observation[:count].copy_(torch.from_numpy(decisions.observation))
            self._source[:count].copy_(torch.from_numpy(source))
            with self._services.timer.time_networks():
                self._captured_step()
            return self._outputs[:count].cpu().numpy()
        outputs = np.empty(decisions.mask.shape, np.float32)
        for i, module in enumerate(self._modules):
            is_own = network_index == i
            if is_own.any():
                own = decisions if is_own.all() else decisions.select_rows(is_own)
                outputs[is_own] = self._services.compute_logits(module, own).cpu().numpy()
        return outputs

    @torch.no_grad()
    def _fill_outputs(self) -> None:
        x = self._observation.float().expand(self._services.replicas, -1, -1)
        outputs = torch.cat([module(x) for module in self._modules])  # [networks x K, rows, A]
        index = self._source[None, :, None].expand(1, *self._outputs.shape)
        self._outputs.copy_(outputs.gather(0, index)[0])
