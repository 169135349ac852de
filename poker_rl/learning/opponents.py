"""Opponents of a learner: players sampled for each seat of a hand but the learner's own.

The learner is agent 0. An opponent is a fixed player, or `self`: a past snapshot of the first of
the learner's players. At intervals another snapshot, sampled from the whole run, plays as `self`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.tables import Tables
from poker_rl.learning import collectives
from poker_rl.players.player import (
    Player,
    compute_checked_probs,
    player_from_dict,
    sample_from_probs,
)

SELF = "self"  # name of the opponent that plays by the learner's own snapshots
SELF_POOL_CAPACITY = 20  # largest number of snapshots in the pool of `self`
NO_OPPONENT = -1  # in `Opponents._opponent_of_seat`: the learner's seat, or an empty seat


@dataclass(kw_only=True, frozen=True)
class OpponentSettings:
    """Players that a learner trains against."""

    players: Mapping[str, Player | None]  # by name; `self` has None
    weights: Sequence[float] | None = None  # relative frequencies; None: all are equal
    self_interval: int = 100  # iterations after which another snapshot plays as `self`


class SnapshotPool:
    """Pool of at most `capacity` snapshots: a uniform reservoir sample of all ever added."""

    def __init__(self, capacity: int, generator: np.random.Generator) -> None:
        self._capacity, self._generator = capacity, generator
        self._snapshots: list[dict[str, Any]] = []
        self._snapshots_offered = 0

    def add_and_sample(self, snapshot: dict[str, Any]) -> dict[str, Any]:
        """Add a snapshot, unless the reservoir rule drops it; return a random one of the pool."""
        self._snapshots_offered += 1
        if len(self._snapshots) < self._capacity:
            self._snapshots.append(snapshot)
        elif (index := self._generator.integers(self._snapshots_offered)) < self._capacity:
            self._snapshots[index] = snapshot
        return self._snapshots[self._generator.integers(len(self._snapshots))]

    def state_dict(self) -> dict[str, Any]:
        return {"snapshots": self._snapshots, "snapshots_offered": self._snapshots_offered}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._snapshots = list(state["snapshots"])
        self._snapshots_offered = state["snapshots_offered"]


class Opponents:
    """Opponents at the tables of a rollout: their seats, their actions and their results."""

    def __init__(
        self, settings: OpponentSettings, tables: Tables, generator: np.random.Generator
    ) -> None:
        self._settings, self._tables, self._generator = settings, tables, generator
        weights = np.array(settings.weights or [1.0] * len(settings.players))
        self._probs = weights / weights.sum()
        # Index in `players` of the opponent in each seat, [tables, seats]
        self._opponent_of_seat = np.full((len(tables.records), tables.game.seats), NO_OPPONENT)
        self._pool = SnapshotPool(SELF_POOL_CAPACITY, generator)
        self._self_state: dict[str, Any] | None = None  # snapshot that plays as `self`
        self._self_players: list[Player] = []  # for each instance, the player of this snapshot
        self._device = torch.device("cpu")
        self._hands, self._chips = np.zeros((2, len(self._probs)), np.int64)

    def update(
        self, iterations: int, list_players: Callable[[], Mapping[str, Any]], device: torch.device
    ) -> None:
        """Add a snapshot and sample one that plays as `self`, every `self_interval` iterations."""
        self._device = device
        if SELF in self._settings.players and iterations % self._settings.self_interval == 0:
            headline_player = next(iter(list_players().values()))
            self._load_self_snapshot(self._pool.add_and_sample(deepcopy(headline_player.to_dict())))

    def _load_self_snapshot(self, state: dict[str, Any]) -> None:
        player = player_from_dict(state, self._tables.game, self._device)
        self._self_state = state
        self._self_players = [player.select_instance(k) for k in range(player.instance_count)]

    def assign_opponents(self, rows: np.ndarray, agent_of_seat: np.ndarray) -> None:
        """Sample opponents for new hands at tables `rows` [B]; `agent_of_seat` is [B, seats]."""
        seats = np.arange(agent_of_seat.shape[1])
        is_opponent = (agent_of_seat != 0) & (seats < self._tables.count_seats(rows)[:, None])
        count, index = len(self._probs), np.zeros(agent_of_seat.shape, np.int64)
        if count > 1:
            index = self._generator.choice(count, agent_of_seat.shape, p=self._probs)
        self._opponent_of_seat[rows] = np.where(is_opponent, index, NO_OPPONENT)

    def sample_actions(self, rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Sample opponents' actions at the tables `rows` [B]; `mask` has the legal ones, [B, A]."""
        records = self._tables.records.take(rows)
        opponent = self._opponent_of_seat[rows, records["to_act"]]
        probs = np.zeros(mask.shape)
        for index, player in enumerate(self._settings.players.values()):
            players = self._self_players if player is None else [player]
            instance = rows * len(players) // len(self._tables.records)
            if not players:
                raise ConfigError(f"opponents: {SELF}: this learner offers no snapshots")
            for k, instance_player in enumerate(players):
                part = np.flatnonzero((opponent == index) & (instance == k))
                if len(part):
                    tables = self._tables.game, instance_player, records[part], mask[part]
                    probs[part] = compute_checked_probs(*tables)
        return sample_from_probs(probs, self._generator.random(len(probs)))

    def accumulate_results(self, rows: np.ndarray, agents: np.ndarray, chips: np.ndarray) -> None:
        """Add B finished hands to each opponent's totals: hands, and chips that the learner won.

        `rows` [B] are the tables of the hands; `agents` and `chips` [B, seats] are the agent in
        each seat and what the seat won. An opponent in several seats counts once for each.
        """
        won = chips[np.arange(len(rows)), agents.argmin(1)]
        for index in range(len(self._probs)):
            seats = (self._opponent_of_seat[rows] == index).sum(1)
            self._hands[index] += seats.sum()
            self._chips[index] += seats @ won

    def pop_metrics(self) -> dict[str, float]:
        """Return metrics of the hands since the last call, summed over processes.

        They are each opponent's share of all opponents' seats, and the learner's winnings per hand
        against it in units of the game. A hand counts once for each seat of the opponent.
        """
        counts = collectives.sum_over_processes(*self._hands.tolist(), *self._chips.tolist())
        self._hands[:], self._chips[:] = 0, 0
        hands, chips = np.split(np.array(counts), 2)
        metrics: dict[str, float] = {}
        for index in np.flatnonzero(hands):
            # A player loaded from a file is named by a path that already begins with `opponents/`.
            tag = f"opponents/{list(self._settings.players)[index].removeprefix('opponents/')}"
            metrics[f"{tag}/share"] = hands[index] / hands.sum()
            metrics[f"{tag}/won"] = chips[index] / hands[index] / self._tables.game.unit_chips
        return metrics

    def state_dict(self) -> dict[str, Any]:
        return {
            "opponent_of_seat": torch.from_numpy(self._opponent_of_seat.copy()),
            "self_player": self._self_state,
            "pool": self._pool.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._opponent_of_seat[:] = state["opponent_of_seat"].numpy()
        self._pool.load_state_dict(state["pool"])
        if state["self_player"] is not None:
            self._load_self_snapshot(state["self_player"])
