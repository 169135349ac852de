"""Games of this program as games of OpenSpiel, so that OpenSpiel's algorithms run on them.

Chance nodes deal all cards one by one before the first move. The string of an information state is
`Game.infoset_name`, and its tensor has the features of `Tables.observe`. Returns are in the game's
unit. OpenSpiel plays one table at a time, at about 10,000 moves a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel

from poker_rl.config.input_checks import ConfigError
from poker_rl.games.game import Game
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.integrations import to_game

MAX_MOVES = 1000  # `max_game_length` for OpenSpiel if a game does not define its largest length


class GameForOpenSpiel(pyspiel.Game):
    """Game of this program with the interface of an OpenSpiel game.

    Args:
        game: a game or its name, such as `leduc`.
        overrides: changed settings of the game, such as `["game.ante=2"]`, if `game` is a name.

    Raises:
        ConfigError: if the number of players or other rules are sampled for each hand.
    """

    def __init__(self, game: str | Game = "kuhn", overrides: Sequence[str] = ()) -> None:
        game = to_game(game, overrides)
        if len(game.definitions) > 1:
            raise ConfigError(f"game: {game.name} samples its definition for each hand")
        self.game = game
        kind = pyspiel.GameType(
            short_name=f"poker_rl_{game.name}",
            long_name=game.name,
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
            information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
            utility=pyspiel.GameType.Utility.ZERO_SUM,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=game.seats,
            min_num_players=game.seats,
            provides_information_state_string=game.infoset_key_size > 0,
            provides_information_state_tensor=True,
            provides_observation_string=game.infoset_key_size > 0,
            provides_observation_tensor=True,
        )
        keeps_actions = "line" in (game.table_dtype.names or ())
        info = pyspiel.GameInfo(
            num_distinct_actions=game.action_count,
            max_chance_outcomes=int(game.definitions["cards"][0]),
            num_players=game.seats,
            min_utility=-np.inf,
            max_utility=np.inf,
            utility_sum=0.0,
            max_game_length=game.table_dtype["line"].shape[0] if keeps_actions else MAX_MOVES,
        )
        super().__init__(kind, info, {})

    def new_initial_state(self) -> SpielState:
        return SpielState(self)

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> SpielObserver:
        """Return an observer; `iig_obs_type` and `params` are ignored."""
        return SpielObserver(self.game)


class SpielState(pyspiel.State):
    """State of a game with the interface of an OpenSpiel state."""

    def __init__(self, game: GameForOpenSpiel) -> None:
        super().__init__(game)
        self._cards: list[int] = []
        self._records: np.ndarray | None = None  # set when all cards have been dealt

    def _get_tables(self) -> Tables:
        assert self._records is not None
        return tables_from_records(self.get_game().game, self._records)

    def current_player(self) -> int:
        if self._records is None:
            return int(pyspiel.PlayerId.CHANCE)
        is_over = self._records["over"][0]
        return int(pyspiel.PlayerId.TERMINAL if is_over else self._records["to_act"][0])

    def chance_outcomes(self) -> list[tuple[int, float]]:
        cards = int(self.get_game().game.definitions["cards"][0])
        remaining = sorted(set(range(cards)) - set(self._cards))
        return [(card, 1 / len(remaining)) for card in remaining]

    def _legal_actions(self, player: int) -> list[int]:
        return list(map(int, np.flatnonzero(self._get_tables().legal_mask()[0])))

    def _apply_action(self, action: int) -> None:
        if self._records is not None:
            self._get_tables().step(np.array([action]))
            return
        self._cards.append(action)
        game = self.get_game().game
        if len(self._cards) == game.definitions["dealt"][0]:
            tables = Tables(game, 1, 0)
            tables.deal(decks=np.array([self._cards]))
            self._records = tables.records

    def _action_to_string(self, player: int, action: int) -> str:
        if self._records is None:
            return f"Deal {action}"
        return str(self.get_game().game.move_name(self._records[0], action))

    def is_terminal(self) -> bool:
        return self._records is not None and bool(self._records["over"][0])

    def returns(self) -> list[float]:
        """Return what each seat won, in the game's unit; zeros before the end of the hand."""
        game = self.get_game().game
        if not self.is_terminal():
            return [0.0] * game.seats
        returns: list[float] = (self._get_tables().payoffs()[0] / game.unit_chips).tolist()
        return returns

    def __str__(self) -> str:
        return " ".join(map(str, self.history()))

    def get_records_with_seat_to_act(self, seat: int) -> np.ndarray | None:
        """Return the table's record, [1], with `seat` as the seat to act; None before the deal."""
        records = None if self._records is None else self._records.copy()
        if records is not None:
            records["to_act"] = seat
        return records


class SpielObserver:
    """Observer by which OpenSpiel reads a seat's observation as a tensor or as a string."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self.tensor = np.zeros(game.observation_size, np.float32)
        self.dict = {"observation": self.tensor}

    def set_from(self, state: SpielState, player: int) -> None:
        """Set the tensor to a seat's observation, or to zeros before the cards are dealt."""
        self.tensor[:] = 0
        if (records := state.get_records_with_seat_to_act(player)) is not None:
            self.tensor[:] = tables_from_records(self._game, records).observe()[0]

    def string_from(self, state: SpielState, player: int) -> str:
        """Return the name of a seat's information set; before the deal only the seat's number."""
        records = state.get_records_with_seat_to_act(player)
        return str(player) if records is None else self._game.infoset_name(records[0])


load_game = GameForOpenSpiel  # the same name as in OpenSpiel, `pyspiel.load_game`
