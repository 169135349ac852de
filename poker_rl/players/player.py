"""Interface and wrappers of players; functions that check action probabilities and sample actions.

A snapshot stores the state of a player, which `to_dict()` returns: the dotted path of its class
(under the key `_target_`), its settings as plain values, and its weights as tensors.
`from_dict(state, game, device)` builds the player from this state.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Protocol, Self

import numpy as np
import torch

from poker_rl.config.input_checks import ConfigError
from poker_rl.config.target_classes import get_class_path, load_class
from poker_rl.games.game import Game, jit
from poker_rl.games.tables import Tables, tables_from_records

PROB_TOLERANCE = 1e-4  # larger than the rounding error of a sum of 32-bit probabilities


class Player(Protocol):
    """Interface of a player: a policy, and optional estimates of values."""

    # Number of instances, which are independent copies that were trained side by side.
    instance_count: int = 1
    # True if tables that differ only by a permutation of suits get the same probabilities. True
    # makes evaluation cheaper; False is always allowed.
    is_suit_invariant: bool = False

    def select_instance(self, k: int) -> Player:
        """Return instance `k` as a player of its own, see `instance_count`."""
        return self

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        """Return the action probabilities of the seat to act at each of B tables, [B, A] float64.

        `records` [B] holds the states of the tables; A is the number of actions of the game. Each
        row sums to 1 and is 0 for illegal actions.
        """

    def state_values(self, records: np.ndarray) -> np.ndarray | None:
        """Return the expected payoff of the seat to act at each table, [B] float64, in chips.

        The payoff is that of the whole hand. A critic estimates it from the seat's information set,
        assuming that all seats play as in the critic's training. None if there is no critic.
        """
        return None

    def action_values(self, records: np.ndarray) -> np.ndarray | None:
        """Return expected payoffs of the seat to act after each action, [B, A] float64, in chips.

        A value is NaN if the action is illegal or has no estimate. The result is None if no critic
        estimates such values.
        """
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the player's state: `_target_`, settings and weights."""

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        """Build the player whose `to_dict` returned `state`, with its networks on `device`."""


class PlayerWrapper(Player):
    """Base class of players that modify the policy of another player, the wrapped player."""

    def __init__(self, game: Game, player: Player) -> None:
        self._game, self._player = game, player
        self.instance_count = player.instance_count
        self.is_suit_invariant = player.is_suit_invariant

    def select_instance(self, k: int) -> PlayerWrapper:
        wrapper = copy(self)
        wrapper._player, wrapper.instance_count = self._player.select_instance(k), 1
        return wrapper

    def to_dict(self) -> dict[str, Any]:
        return {"_target_": get_class_path(self), "player": self._player.to_dict()}

    @classmethod
    def from_dict(cls, state: dict[str, Any], game: Game, device: Any) -> Self:
        return cls(game, player_from_dict(state["player"], game, device))


class GreedyWrapper(PlayerWrapper):
    """Player that always takes the most probable action of another player, the wrapped player.

    The probabilities of actions that differ only in size, such as no-limit raises, are first added:
    if all raises together are more probable than a call, the player takes the most probable raise.
    Among equally probable actions, it takes the first one.
    """

    def __init__(self, game: Game, player: Player) -> None:
        super().__init__(game, player)
        self._action_type = np.unique(game.action_types, return_inverse=True)[1]  # indices [A]

    def action_probs(self, records: np.ndarray) -> np.ndarray:
        probs = compute_checked_probs(self._game, self._player, records)
        probs_of_type = probs @ np.eye(self._action_type.max() + 1)[self._action_type]  # [B, types]
        is_best_type = self._action_type == probs_of_type.argmax(1)[:, None]
        best_action = np.where(is_best_type, probs, -1).argmax(1)
        return np.asarray(best_action[:, None] == np.arange(probs.shape[1]), np.float64)


def player_from_dict(state: dict[str, Any], game: Game, device: Any) -> Any:
    """Build the player whose `to_dict` returned `state`; its class is looked up by its path."""
    return load_class(state["_target_"]).from_dict(state, game, device)


class NonFiniteProbsError(ConfigError):
    """Error raised if a player's probabilities are not finite, such as after diverged training."""

    def __init__(self, player: Player | None = None) -> None:
        player_name = "a player" if player is None else f"the player {get_class_path(player)}"
        problem = "probabilities that are not numbers: the weights of a network may be too large"
        super().__init__(f"{player_name} gives {problem}")


def compute_checked_probs(
    game: Game, player: Player, records: np.ndarray, legal_mask: np.ndarray | None = None
) -> np.ndarray:
    """Return a player's action probabilities [B, A] at B tables, after a check that they are valid.

    Each row must sum to 1 and be 0 for illegal actions; without this check, a faulty bot would
    cause wrong results without an error. `legal_mask` [B, A] marks the legal actions; it is
    computed from `records` [B] if it is None.

    Raises:
        NonFiniteProbsError: if a probability is not finite.
        ConfigError: if a row is invalid in another way; the message names the player's class.
    """
    probs = player.action_probs(records)
    if legal_mask is None:
        legal_mask = tables_from_records(game, records).legal_mask()
    player_name = f"the player {get_class_path(player)}"
    if probs.shape != legal_mask.shape:
        shape_text = f"an array of shape {probs.shape} instead of {legal_mask.shape}"
        raise ConfigError(f"{player_name} gives {shape_text}: tables by actions")
    row = _find_invalid_row(probs, legal_mask)
    if row < 0:
        return probs
    if not np.isfinite(probs[row]).all():
        raise NonFiniteProbsError(player)
    problem = f"probabilities with the sum {probs[row].sum():.4g}, not 1"
    for action, prob in enumerate(probs[row]):
        if prob < -PROB_TOLERANCE or (prob and not legal_mask[row, action]):
            problem = f"{game.action_name(action)} the probability {prob:.4g}"
            problem += ", less than 0" if legal_mask[row, action] else " where it is illegal"
    raise ConfigError(f"{player_name} gives {problem}: {game.infoset_name(records[row])}")


@jit
def _find_invalid_row(probs, legal_mask):  # type: ignore[no-untyped-def]
    """Return the index of the first row that is not a distribution over legal actions, else -1."""
    for row in range(len(probs)):
        missing_mass = 1.0
        for action in range(probs.shape[1]):
            prob = probs[row, action]
            if prob != 0.0:
                missing_mass -= prob
                if prob < -PROB_TOLERANCE or not legal_mask[row, action]:
                    return row
        if not abs(missing_mass) <= PROB_TOLERANCE:
            return row
    return -1


def find_first_player_indices(players: Sequence[Player]) -> np.ndarray:
    """Return for each of P players the smallest index at which the same object is listed, [P]."""
    ids = [id(player) for player in players]
    return np.array([ids.index(player_id) for player_id in ids])


def sample_player_actions(
    tables: Tables,
    rows: np.ndarray,
    players: Sequence[Player],
    player_index: np.ndarray,
    generators: Sequence[np.random.Generator],
) -> np.ndarray:
    """Sample an action [B] of the player `player_index[i]` at each table `rows[i]`.

    Each player has its own generator of random numbers. A player that is listed several times is
    queried once, with its first generator.
    """
    acting_player = find_first_player_indices(players)[player_index]
    actions = np.empty(len(rows), int)
    for i in np.unique(acting_player):
        is_players = acting_player == i
        records = tables.records.take(rows[is_players])
        probs = compute_checked_probs(tables.game, players[i], records)
        actions[is_players] = sample_from_probs(probs, generators[i].random(len(probs)))
    return actions


def sample_from_probs(probs: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Sample an action [B] for each row of `probs` [B, A]; `uniform` [B] is random in [0, 1).

    Raise NonFiniteProbsError if no probability of a row is positive, for example if all are NaN.
    """
    actions = np.full(len(probs), -1)
    _fill_actions_from_probs(np.ascontiguousarray(probs, np.float64), uniform, actions)
    if (actions < 0).any():
        raise NonFiniteProbsError
    return actions


def sample_actions_and_log_probs(
    logits: torch.Tensor, legal_mask: np.ndarray, uniform: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sample actions from a softmax over the logits [B, A] of legal actions.

    `uniform` [B] float32 holds a random number in [0, 1) for each row. Return the actions [B] and
    the logarithms of their probabilities, [B] float32.
    """
    actions = np.empty(len(legal_mask), np.int64)
    log_probs = np.empty(len(legal_mask), np.float32)
    _fill_actions_from_logits(
        logits.detach().cpu().numpy(), legal_mask, uniform, actions, log_probs
    )
    return actions, log_probs


def mix_with_uniform(
    probs: np.ndarray, legal_mask: np.ndarray, uniform_weight: float | np.ndarray
) -> np.ndarray:
    """Return mixtures [B, A] of `probs` [B, A] with the uniform policy over the legal actions.

    `uniform_weight` is the weight of the uniform policy: one number, or one for each row, [B, 1].
    """
    uniform_part = uniform_weight * legal_mask / legal_mask.sum(1, keepdims=True)
    return np.asarray((1 - uniform_weight) * probs + uniform_part)


@jit
def _fill_actions_from_probs(probs, uniform, actions):  # type: ignore[no-untyped-def]
    for i in range(len(actions)):
        remaining = uniform[i]
        for a in range(probs.shape[1]):
            if probs[i, a] > 0:
                actions[i] = a
                remaining -= probs[i, a]
                if remaining < 0:
                    break


@jit
def _fill_actions_from_logits(logits, legal_mask, uniform, sampled_actions, log_probs):  # type: ignore[no-untyped-def]
    action_count = legal_mask.shape[1]
    weight = np.empty(action_count, np.float32)
    for i in range(len(sampled_actions)):
        max_logit = np.float32(-np.inf)
        for a in range(action_count):
            if legal_mask[i, a] and logits[i, a] > max_logit:
                max_logit = logits[i, a]
        total = np.float32(0)
        for a in range(action_count):
            weight[a] = np.exp(logits[i, a] - max_logit) if legal_mask[i, a] else np.float32(0)
            total += weight[a]
        remaining = uniform[i] * total
        for a in range(action_count):
            if legal_mask[i, a]:
                sampled_actions[i] = a
                remaining -= weight[a]
                if remaining < 0:
                    break
        log_probs[i] = logits[i, sampled_actions[i]] - max_logit - np.log(total)
