"""Small games of OpenSpiel as games of this program.

The whole game tree is read once into arrays; hands are played from these arrays, without OpenSpiel.
The outcomes of all chance nodes of a hand are sampled before its first move. So chance nodes may be
anywhere in the tree, but their probabilities must not depend on moves. If players of a game move at
the same time, they act in turn here, without seeing each other's actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from poker_rl.config.input_checks import ConfigError, PositiveInt, format_value, suggest_allowed
from poker_rl.games import tree_array_rules
from poker_rl.games.game import Game

MAX_DEALS = 10_000  # limit on the number of deals, because each table stores a list of all deals
Parameter = bool | int | float | str
Outcomes = tuple[int, ...]  # index of the outcome at each chance node on the path to a node


class TabulatedTree(NamedTuple):
    """Tree of a game, and OpenSpiel's names of all actions and of all information sets."""

    definitions: np.ndarray  # see `tree_array_rules.build_definitions`
    max_moves: int  # largest number of moves in a hand
    action_names: list[str]
    infoset_names: list[str]


@dataclass(kw_only=True, frozen=True)
class GameFromOpenSpiel(Game):
    """Game of OpenSpiel with a small tree, perfect recall and payoffs that sum to 0.

    Raises:
        ConfigError: if OpenSpiel is not installed, or the game or its parameters cannot be used.
    """

    params: dict[str, Parameter]  # OpenSpiel's parameters of the game
    max_nodes: PositiveInt  # limit of the number of nodes of the tree

    rules = tree_array_rules
    hand_noun = "game"
    infoset_key_size = 4

    def __post_init__(self) -> None:
        _ = self._tree  # read the tree now, so that its errors are raised before any hand

    @cached_property
    def _tree(self) -> TabulatedTree:
        params = tuple(self.params.items())
        try:
            return tabulate_tree(self.name, params, self.unit_chips, self.max_nodes)
        except (LookupError, RuntimeError, TypeError, ValueError) as error:
            problem = f"OpenSpiel can't play {self.name} with {format_value(self.params)}"
            raise ConfigError(f"params: {problem}: {' '.join(str(error).split())}") from error

    @property
    def definitions(self) -> np.ndarray:
        return self._tree.definitions

    @cached_property
    def table_dtype(self) -> np.dtype[np.void]:
        return tree_array_rules.build_table_dtype(self.count_deals(), self._tree.max_moves)

    @property
    def action_count(self) -> int:
        return len(self._tree.action_names)

    @property
    def observation_size(self) -> int:
        return int(self.definitions["observation"].shape[2])

    @property
    def feature_dtype(self) -> np.dtype[Any]:
        return self.definitions["observation"].dtype

    def list_deals(self) -> np.ndarray:
        return np.arange(self.count_deals(), dtype=np.int16)[:, None]

    def action_name(self, action: int) -> str:
        """Return OpenSpiel's name of an action; its number if the name depends on the state."""
        return self._tree.action_names[action]

    def infoset_name(self, record: np.void) -> str:
        """Return a record's seat to act, and OpenSpiel's name of the seat's information set."""
        tree, node, seat = self.definitions[0], int(record["node"]), int(record["to_act"])
        # Only the seat that moves at the node has an information set there, and so a name of it.
        is_to_act = tree["owner"][node] == seat
        name = self._tree.infoset_names[tree["index"][node]] if is_to_act else ""
        return f"{seat} {'_'.join(name.split())}".strip()


def load_turn_based_game(game_name: str, params: dict[str, Parameter]) -> Any:
    """Load a `pyspiel.Game` in which players take turns; raise ConfigError if it is unsuitable."""
    try:
        import pyspiel
    except ImportError:
        message = "OpenSpiel is not installed; pip install 'poker-rl[openspiel]'"
        raise ConfigError(f"_target_: {message}") from None
    names = [kind.short_name for kind in pyspiel.registered_games()]
    if game_name not in names:
        advice = suggest_allowed(game_name, names)
        raise ConfigError(f"name: OpenSpiel has no game {game_name!r}; {advice}")
    game = pyspiel.load_game(game_name, params)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    kind = game.get_type()
    has_tensor = kind.provides_information_state_tensor or kind.provides_observation_tensor
    samples_chance = kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC
    problems = {
        "has fewer than two players": game.num_players() < 2,
        "has no turns": kind.dynamics != pyspiel.GameType.Dynamics.SEQUENTIAL,
        "does not list its chance outcomes": samples_chance,
        "has no information states": not kind.provides_information_state_string,
        "has no tensor that networks can read": not has_tensor,
    }
    for problem, has_problem in problems.items():
        if has_problem:
            raise ConfigError(f"name: {game_name} {problem}")
    return game


@cache
def tabulate_tree(
    game_name: str, params: tuple[tuple[str, Parameter], ...], unit_chips: int, max_nodes: int
) -> TabulatedTree:
    """Read the tree of an OpenSpiel game into arrays; raise ConfigError if it is unsuitable."""
    game = load_turn_based_game(game_name, dict(params))
    seats, actions = game.num_players(), game.num_distinct_actions()
    has_tensor = game.get_type().provides_information_state_tensor
    action_names: dict[int, str] = {}
    infosets: dict[tuple[int, str], int] = {}
    observations: list[np.ndarray] = []
    ranks: list[np.ndarray] = []
    previous_edges: list[int] = []
    payoffs: list[list[float]] = []
    outcome_probs: dict[Outcomes, list[Fraction]] = {}
    owner, first_child, index, max_moves = [0], [0], [0], 0
    # Nodes to visit: state, index, chance outcomes so far, number of moves so far, and each seat's
    # last edge (information set * number of actions + action; -1 before its first move).
    stack: list[tuple[Any, int, Outcomes, int, tuple[int, ...]]]
    stack = [(game.new_initial_state(), 0, (), 0, (-1,) * seats)]
    while stack:
        if len(owner) > max_nodes:
            raise ConfigError(f"max_nodes: {game_name} has more nodes than {max_nodes:,}")
        state, node, history, moves, last_edges = stack.pop()
        if state.is_terminal():
            if not moves:
                raise ConfigError(f"name: {game_name} can end before the first move")
            owner[node], index[node] = tree_array_rules.OVER, len(payoffs)
            payoffs.append(state.returns())
            max_moves = max(max_moves, moves)
            continue
        first_child[node] = len(owner)
        if state.is_chance_node():
            outcomes = [pair for pair in state.chance_outcomes() if pair[1]]
            probs = [Fraction(prob).limit_denominator(MAX_DEALS) for _, prob in outcomes]
            if outcome_probs.setdefault(history, probs) != probs:
                raise ConfigError(f"name: {game_name} has chance that depends on the moves")
            owner[node], index[node] = tree_array_rules.CHANCE, len(history)
            children = [
                (state.child(outcome), len(owner) + i, (*history, i), moves, last_edges)
                for i, (outcome, _) in enumerate(outcomes)
            ]
        else:
            seat, legal = state.current_player(), state.legal_actions()
            key = seat, state.information_state_string(seat)
            infoset = infosets.setdefault(key, len(infosets))
            if infoset == len(ranks):
                tensor = state.information_state_tensor if has_tensor else state.observation_tensor
                observations.append(np.array(tensor(seat), np.float32))
                rank = np.full(actions, -1, np.int16)
                rank[legal] = np.arange(len(legal))
                ranks.append(rank)
                previous_edges.append(last_edges[seat])
                for action in legal:
                    action_name = state.action_to_string(seat, action)
                    if action_names.setdefault(action, action_name) != action_name:
                        action_names[action] = str(action)
            elif previous_edges[infoset] != last_edges[seat]:
                raise ConfigError(f"name: {game_name} has imperfect recall")
            owner[node], index[node] = seat, infoset
            children = []
            for i, action in enumerate(legal):
                edge = infoset * actions + action
                edges = (*last_edges[:seat], edge, *last_edges[seat + 1 :])
                children.append((state.child(action), len(owner) + i, history, moves + 1, edges))
        for column in (owner, first_child, index):
            column += [0] * len(children)
        stack += children
    observation = np.array(observations)
    is_binary = ((observation == 0) | (observation == 1)).all()
    definitions = tree_array_rules.build_definitions(
        seats=np.int64(seats),
        owner=np.array(owner, np.int8),
        first_child=np.array(first_child, np.int32),
        index=np.array(index, np.int32),
        rank=np.array(ranks),
        observation=observation.astype(np.uint8) if is_binary else observation,
        payoff=convert_payoffs_to_chips(game_name, np.array(payoffs), unit_chips),
        outcome=list_equally_likely_deals(game_name, outcome_probs),
    )
    names_of_actions = [action_names.get(action, str(action)) for action in range(actions)]
    return TabulatedTree(definitions, max_moves, names_of_actions, [key for _, key in infosets])


def convert_payoffs_to_chips(game_name: str, payoffs: np.ndarray, unit_chips: int) -> np.ndarray:
    if abs(payoffs.sum(1)).max() > 1e-9:
        raise ConfigError(f"name: the payoffs of {game_name} do not sum to 0")
    chips = np.rint(payoffs * unit_chips)
    if abs(chips - payoffs * unit_chips).max() > 1e-6:
        fractions = {Fraction(payoff).limit_denominator(1000) for payoff in payoffs.flat}
        needed = lcm(*(fraction.denominator for fraction in fractions))
        raise ConfigError(f"unit_chips: {unit_chips}; the payoffs of {game_name} need {needed}")
    return np.asarray(chips, np.int64)


def list_equally_likely_deals(
    game_name: str, outcome_probs: dict[Outcomes, list[Fraction]]
) -> np.ndarray:
    """Return equally likely deals: the index of the outcome at each chance node of a hand.

    The shape is [deals, most chance nodes on a path], int16. A deal that is k times as likely as
    another appears k times as often. Raise ConfigError if there are more than `MAX_DEALS`.
    """

    def iterate_deals(history: Outcomes, prob: Fraction) -> Iterator[tuple[Outcomes, Fraction]]:
        if history not in outcome_probs:
            yield history, prob
        for i, outcome_prob in enumerate(outcome_probs.get(history, [])):
            yield from iterate_deals((*history, i), prob * outcome_prob)

    deals = list(iterate_deals((), Fraction(1)))
    deal_count = lcm(*(prob.denominator for _, prob in deals))
    if deal_count > MAX_DEALS:
        raise ConfigError(f"name: {game_name} has {deal_count:,} deals; allowed: {MAX_DEALS:,}")
    depth = max(len(history) for history, _ in deals)
    rows = [(*history, *[0] * (depth - len(history))) for history, _ in deals]
    return np.array(rows, np.int16).repeat([int(prob * deal_count) for _, prob in deals], axis=0)
