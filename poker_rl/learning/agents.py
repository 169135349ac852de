"""The learning agents of a run: where they sit, what their networks see, which network decides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from poker_rl.config.settings import Count, Refused, in_memory
from poker_rl.games.game import Game
from poker_rl.learning.clock import Clock
from poker_rl.learning.memory import Column
from poker_rl.learning.minibatches import Inputs, minibatches
from poker_rl.learning.rollout import Batch, Rollout, Rows, Seating
from poker_rl.learning.room import demand
from poker_rl.learning.state_checks import check_range
from poker_rl.nets.chances import masked_softmax
from poker_rl.nets.dense import Net, Size
from poker_rl.nets.legal import Legal, few
from poker_rl.players.features import Features
from poker_rl.players.network import Critic, Members, NetworkPlayer, member_count, member_of
from poker_rl.players.player import Player
from poker_rl.players.sampling import draw, sample


@dataclass(kw_only=True, frozen=True)
class Given:
    """What every learner with networks is given beside its settings.

    Args:
        game: the game played.
        net: the shape of the networks.
        device: where they are.
        seed: for everything that is drawn.
        opponent: a fixed player in every seat but agent 0's, or None for self-play.
        workers: processes that learn together, each with a learner of these settings.
        rank: number of this one, from 0 on; each draws other cards and actions.
    """

    game: Game
    net: Net
    device: torch.device
    seed: int
    opponent: Player | None = None
    workers: int = 1
    rank: int = 0


@dataclass(kw_only=True)
class Seats:
    """Settings that learners have in common, among their own: whose networks decide, and where.

    Args:
        members: which of a player's networks decides.
        instances: independent copies of the whole learner.
        seating: which agent sits where.
    """

    members: Members
    instances: Count
    seating: Seating


class Agents:
    """What every learner with networks starts from: tables, generators and networks' shapes.

    Args:
        given: see `Given`.
        seats: see `Seats`; a learner with these settings is one.
        tables: of each instance.
        hidden: show critics the hidden cards too.
        ask_forced: ask the networks for moves that are the only legal ones.
        steps: actions at each table in an iteration, one if hands are played to their end.
        key: the setting that says `tables`, named in errors.

    Raises:
        Refused: if networks of a player would never learn, as an opponent has their seats, or if
            the tables and what an iteration keeps of them do not fit into memory.

    Attributes:
        game: the game played.
        generator: for actions and batches.
        clock: counts the networks' time.
        rollout: the tables, those of an instance side by side.
        copies: number of copies K of each network, instances x members.
        device: where they are.
        column: how a memory keeps what a player sees.
        workers: processes that learn together; tables and memories are those of this one.
    """

    def __init__(
        self,
        given: Given,
        seats: Seats,
        *,
        tables: int,
        hidden: bool = False,
        ask_forced: bool = True,
        steps: int = 1,
        key: str = "tables",
    ) -> None:
        game, net, opponent = given.game, given.net, given.opponent
        instances = seats.instances
        if opponent is not None:
            if seats.members == "agent":
                raise Refused("members: agent needs self-play; with an opponent: shared")
            if seats.members == "seat" and seats.seating == "fixed":
                raise Refused(
                    "members: seat needs self-play; with an opponent: shared, or seating: shuffled"
                )
        self.workers = given.workers
        own = (given.rank,) if given.rank else ()  # the first draws what one process alone would
        streams = np.random.SeedSequence(given.seed, spawn_key=own).generate_state(3)
        self.generator = np.random.Generator(np.random.PCG64(int(streams[0])))
        self._features = Features(game, net.features)
        self._hidden = game.hidden_size if hidden else 0
        table = game.table.itemsize + 16 * game.seats
        decisions = steps if opponent is None else steps / game.seats
        each = tables * (table + decisions * self._row(game.actions))
        for what, copies in ((key, 1), ("instances", instances)):
            play = f"{what}: {copies * tables:,} tables"
            if steps > 1:
                play += f" and {copies * tables * steps:,} actions an iteration"
            demand(play, int(copies * each), torch.device("cpu"))  # where the rules are
        # 16 bits tell chips apart to 1/2,048 of a stack
        kept = torch.bool if self._features.bits else torch.float16
        self.column = Column(kept, self._features.size)
        self.copies = instances * member_count(game, seats.members)
        self.rollout = Rollout(
            game,
            instances * tables,
            int(streams[2]),
            opponent=opponent,
            seating=seats.seating,
            hidden=self._features.hidden if hidden else None,
            observe=None if net.features == "observation" else self._features,
            copies=self._copies if self.copies > 1 else None,
            ask_forced=ask_forced,
        )
        self._weights = torch.Generator().manual_seed(int(streams[1]))
        self.device, self.clock = given.device, Clock()
        self.game, self._net = game, net
        self._tables, self._members, self._instances = tables, seats.members, instances

    def _row(self, actions: int) -> int:
        """The fewest bytes that a decision takes: of its turn, in the batch, as floats."""
        width = self._features.size
        seen = width * (1 if self._features.bits else 4) + self._hidden
        columns = 56  # action, table, seat, agent, copy and next; log-probability and reward
        return 2 * (seen + actions + columns) + 4 * (width + self._hidden)

    def network(self, outputs: int, last_scale: float = 1.0) -> nn.Module:
        """K new networks of what a player sees, [K, B, W] -> [K, B, outputs]."""
        return self._network(self._net, self._features.size, outputs, last_scale)

    def critic(self, outputs: int, last_scale: float = 1.0) -> nn.Module:
        """The same of what a critic sees: with `hidden`, the hidden cards come after the rest."""
        inputs = self._features.size + self._hidden
        return self._network(self._net.values, inputs, outputs, last_scale)

    def _network(self, net: Net, inputs: int, outputs: int, last_scale: float) -> nn.Module:
        size = Size(
            inputs=inputs,
            outputs=outputs,
            copies=self.copies,
            last_scale=last_scale,
            steps=self._features.steps,
        )
        with in_memory("net"):
            return net.module(size, self._weights).to(self.device)

    def kept(
        self, module: nn.Module | None, chips: float, gamma: float = 1.0, *, of_actions: bool
    ) -> Critic | None:
        """The critic that players keep.

        Args:
            module: its networks; None: the players' own networks value actions.
            chips: to one unit of value.
            gamma: the discount it was trained with.
            of_actions: whether it values each action.

        Returns:
            None if it sees hidden cards, as nobody who plays does, or if what it values is
            discounted and so no number of chips.
        """
        return None if self._hidden or gamma < 1 else Critic(module, of_actions, chips)

    def player(
        self,
        module: nn.Module,
        kind: type[NetworkPlayer] = NetworkPlayer,
        critic: Critic | None = None,
    ) -> Player:
        """The policy of K networks."""
        return kind(self.game, self._net, module, self._members, self._instances, critic)

    def first(
        self,
        module: nn.Module,
        kind: type[NetworkPlayer] = NetworkPlayer,
        critic: Critic | None = None,
    ) -> Player:
        """The policy of the first network alone, in every seat."""
        whole = kind(self.game, self._net, module, "shared", self.copies, critic)
        return whole.instance(0)

    def each(self, module: nn.Module) -> Player:
        """The policies of each network alone, in every seat, as so many instances."""
        return NetworkPlayer(self.game, self._net, module, "shared", self.copies)

    def players(
        self, critic: Critic | None = None, **modules: nn.Module | None
    ) -> dict[str, Player]:
        """The policies of several networks by name, without those that there are none of."""
        return {
            name: self.player(net, critic=critic)
            for name, net in modules.items()
            if net is not None
        }

    def logits(self, module: nn.Module, rows: Rows, legal: Legal | None = None) -> Tensor:
        """What the networks say of some rows, each through its copy, [B, outputs] or [B, L]."""
        # rows of every table lie in equal blocks, a copy's each, and need no sorting
        even = self._members == "shared" and len(rows.table) == self._instances * self._tables
        copy = None if even else self.tensor(rows.copy)
        with self.clock.networks():
            return Inputs(rows.observation, self.device).all(module, copy, legal)

    def policy(self, module: nn.Module, rows: Rows) -> np.ndarray:
        """The probabilities that the networks give to actions, [B, A], 0 to illegal ones."""
        with torch.no_grad():
            logits = self.logits(module, rows)
            with self.clock.networks():
                return masked_softmax(logits, self.tensor(rows.mask)).cpu().numpy()

    def sampled(self, module: nn.Module, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Actions drawn from the networks' policy [B], and their log-probabilities [B]."""
        legal = few(rows.mask, self.device)
        with torch.no_grad():
            logits = self.logits(module, rows, legal)
        if legal is None:
            return sample(logits, rows.mask, self.generator)
        column, log_prob = sample(logits, legal.mask.cpu().numpy(), self.generator)
        return legal.taken(column), log_prob

    def drawn(self, policy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Actions drawn from probabilities [B, A], and their log-probabilities, [B] each."""
        action = draw(policy, self.generator.random(len(policy)))
        return action, np.log(policy[np.arange(len(action)), action])

    def inputs(self, batch: Batch) -> tuple[Inputs, Inputs]:
        """What actors are shown of a batch, and what critics are: the same if nothing is hidden."""
        seen = Inputs(batch.observation, self.device)
        if not self._hidden:
            return seen, seen
        return seen, Inputs(np.concatenate([batch.observation, batch.hidden], 1), self.device)

    def minibatches(
        self, rows: np.ndarray, copy: np.ndarray, count: int
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """See `minibatches.minibatches`."""
        return minibatches(rows, copy, self.copies, count, self.generator, self.device)

    def shown(self, records: np.ndarray) -> tuple[Tensor, Tensor]:
        """What every instance's networks see of tables [B], [instances x B, W], and their copy."""
        seen = np.tile(self._features(records), (self._instances, 1))
        member = member_of(self.game, self._members, records)
        instance = np.arange(self._instances)[:, None]
        copy = (instance * (self.copies // self._instances) + member).ravel()
        return self.tensor(seen).float(), self.tensor(copy)

    def known(self, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What a player sees of tables [B], [B, W], and what a critic does besides, [B, H]."""
        if not self._hidden:
            return self._features(records), np.empty((len(records), 0), np.uint8)
        return self._features(records), self._features.hidden(records)

    def decides(self, records: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Which copy of the networks decides at some positions, agent i in seat i, [B] int64.

        Args:
            records: the positions, tables [B], each at its seat to act.
            table: the rollout's table that each of them was reached from, [B] int64.
        """
        member = member_of(self.game, self._members, records)
        copy: np.ndarray = self.instance(table) * (self.copies // self._instances) + member
        return copy

    def seed(self) -> int:
        """A seed for a part with generators of its own, another one at each call."""
        return int(self.generator.integers(2**63))

    def tensor(self, array: np.ndarray) -> Tensor:
        """An array where the networks are."""
        return torch.from_numpy(array).to(self.device)

    def instance(self, table: np.ndarray) -> np.ndarray:
        """The instance that each table belongs to, [N] int64."""
        instance: np.ndarray = table // self._tables
        return instance

    def _copies(self, rows: Rows) -> np.ndarray:
        instance = self.instance(rows.table)
        if self._members == "shared":
            return instance
        copy: np.ndarray = instance * (self.copies // self._instances)
        copy += member_of(self.game, self._members, rows.records, rows.agent)
        return copy

    def state_dict(self) -> dict[str, Any]:
        """Tables and generator."""
        return {
            "rollout": self.rollout.state_dict(),
            "generator": self.generator.bit_generator.state,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken.

        Raises:
            ValueError: if the networks were shown other features, or it does not fit otherwise.
        """
        carried = state["rollout"]["carried"]
        if carried and carried["observation"].shape[1] != self._features.size:
            raise ValueError("open decisions have other features than the networks are shown now")
        self.rollout.load_state_dict(state["rollout"])
        if self.rollout.carried is not None:
            check_range("carried.copy", self.rollout.carried.copy, 0, self.copies)
        self.generator.bit_generator.state = state["generator"]
