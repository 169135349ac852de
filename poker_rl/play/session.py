"""Session of one human player: hand after hand, saved to a file.

Views contain only what the human player may know. A session is not thread-safe.

A request changes both the session and its file, or neither of them, with one exception: if an
opponent's policy fails before the human player's first decision of a hand, only the file records
that the hand was dealt. A hand that was not finished when the program ended counts as abandoned,
because the person may have seen cards; so the next hand has a new deck.
"""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.input_checks import ConfigError
from poker_rl.evaluation.matches.winnings_and_playing_style import StyleCounter, is_holdem
from poker_rl.evaluation.result import get_result_scale_and_unit
from poker_rl.evaluation.starting_hand_grid import supports_hand_grid
from poker_rl.games.game import Game
from poker_rl.games.poker.phh_writer import check_phh_support, format_phh
from poker_rl.games.tables import Tables, tables_from_records
from poker_rl.play.live_hand import (
    PERSON_INDEX,
    LiveHand,
    RequestNotAllowedError,
    build_hand_view,
    deal_hand,
    find_requested_move,
    format_hand,
    rebuild_finished_hand,
)
from poker_rl.play.move_grades import explain_grades, list_move_groups, review_all_decisions
from poker_rl.play.session_file import SessionFile, read_session
from poker_rl.play.session_statistics import format_signed, summarize_session
from poker_rl.play.table_setup import TableSetup, format_player_counts

MAX_MOVES_PER_HAND = 10_000  # more than any hand has, so that each `turn_id` is unique


class StaleRequestError(Exception):
    """Error raised if a request was made from an outdated view; `view` is the present one."""

    def __init__(self, view: dict[str, Any]) -> None:
        super().__init__("You have moved on in another tab; this is the table now.")
        self.view = view


class Session:
    """Session of one human player at one table, started by `create` or `resume`.

    A `turn_id` in a request is that of the view from which the request was made. If this view is
    outdated, the request raises a StaleRequestError. A request that is not allowed now, or not
    possible in the game, raises a RequestNotAllowedError.

    `seed` fixes all randomness in the session. `session_id` is also the name of its file. If `file`
    is None, nothing is saved.
    """

    def __init__(
        self, setup: TableSetup, seed: int, session_id: str, file: SessionFile | None
    ) -> None:
        self.setup, self.session_id = setup, session_id
        self._seed, self._file = seed, file
        self._finished_hands: dict[int, dict[str, Any]] = {}  # `LiveHand.to_dict` by hand number
        self._style_counter = StyleCounter() if is_holdem(setup.game) else None
        self._hands_dealt = 0  # including abandoned hands

    @classmethod
    def create(
        cls, setup: TableSetup, folder: Path | None = None, seed: int | None = None
    ) -> Session:
        """Start a session and deal its first hand; without `folder`, nothing is saved."""
        seed = secrets.randbits(60) if seed is None else seed
        session_id, file = secrets.token_hex(8), None
        if folder is not None:
            first_line = {"session": session_id, "seed": seed, "table": setup.to_dict()}
            file = SessionFile.create(folder / f"{session_id}.jsonl", first_line)
        session = cls(setup, seed, session_id, file)
        session._deal_next_hand()
        return session

    @classmethod
    def resume(cls, path: Path, setup: TableSetup) -> Session:
        """Resume a saved session at the end of its last finished hand; without one, deal a hand.

        Raise ConfigError if the file is not a session's, belongs to another table, or is in use.
        """
        file = SessionFile(path)
        try:
            saved = read_session(path)
            if saved.table != setup.to_dict():
                raise ConfigError(f"{path} is of another table")
            session = cls(setup, saved.seed, saved.session_id, file)
            session._hands_dealt = saved.hands_dealt
            for saved_hand in saved.hands:
                session._restore_finished_hand(saved_hand)
            if session._finished_hands:
                hand = session._rebuild_finished_hand(max(session._finished_hands))
                session.current_hand, session._steps_seen = hand, len(hand.steps)
            else:
                session._deal_next_hand()
        except BaseException:
            file.close()
            raise
        return session

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _restore_finished_hand(self, saved_hand: dict[str, Any]) -> None:
        """Add a finished hand from the file; raise ConfigError if it is no hand of the game."""
        game = self.setup.game
        try:
            tables = Tables(game, 1, 0)
            tables.deal(decks=np.array([saved_hand["deck"]]), variants=saved_hand["variant"])
            actions = np.array([saved_hand["actions"]], np.int64)
            tables.replay(actions, np.array([actions.size]))
            seats = tuple(saved_hand["player_of_seat"])
            seat_count, players = int(tables.count_seats()[0]), {*seats} & {*range(game.seats)}
            if not (PERSON_INDEX in players and len(players) == len(seats) == seat_count):
                raise ValueError
            hand = LiveHand(self.setup, self._seed, saved_hand["hand"], seats, tables.records)
            if not hand.is_over or hand.compute_payoffs_by_player() != saved_hand["won"]:
                raise ValueError
            self._add_finished_hand(hand, saved_hand)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            problem = f"hand {saved_hand['hand']} is no hand of {game.name}"
            raise ConfigError(f"the session's {problem}") from None

    def _add_finished_hand(self, hand: LiveHand, saved_hand: dict[str, Any]) -> None:
        if self._style_counter is not None:
            tables = tables_from_records(self.setup.game, hand.record)
            self._style_counter.add_hands(tables, np.array([hand.person_seat]))
        self._finished_hands[hand.hand_number] = saved_hand

    def _deal_next_hand(self) -> None:
        """Deal the next hand and play it to the human player's first decision."""
        hand_number = self._hands_dealt + 1
        if self._file is not None:
            self._file.append_line({"dealt": hand_number})
        self._set_and_save_current_hand(
            deal_hand(self.setup, self._seed, hand_number).play_opponents(), 0
        )
        self._hands_dealt = hand_number

    def _set_and_save_current_hand(self, hand: LiveHand, steps_seen: int) -> None:
        """Make `hand` the session's present hand; if it is over, first save it to the file.

        `steps_seen` is the number of moves in `hand` that the person has already seen.
        """
        if hand.is_over:
            saved_hand = hand.to_dict()
            if self._file is not None:
                self._file.append_line(saved_hand)
            self._add_finished_hand(hand, saved_hand)
        self.current_hand, self._steps_seen = hand, steps_seen

    @property
    def turn_id(self) -> int:
        """Id of the present view; it grows with each move and hand of the session."""
        return self.current_hand.hand_number * MAX_MOVES_PER_HAND + len(self.current_hand.steps)

    def build_view(self) -> dict[str, Any]:
        """Return everything that the human player may know now, as plain values for JSON."""
        game, adviser = self.setup.game, self.setup.adviser
        style_counts = None if self._style_counter is None else self._style_counter.counts[0]
        return {
            "session": {
                "id": self.session_id,
                "game": game.name,
                "hand_noun": game.hand_noun,
                "against": format_player_counts([one.name for one in self.setup.opponents]),
                "adviser": adviser and self.setup.short_names[adviser.name],
                "adviser_full_name": adviser and adviser.name,
                "phh": supports_phh(game),
                "grid": supports_hand_grid(game),
            },
            "turn": self.turn_id,
            **build_hand_view(self.current_hand, self._steps_seen),
            "stats": summarize_session(game, [*self._finished_hands.values()], style_counts),
        }

    def act(self, turn_id: int, action: int | dict[str, int]) -> dict[str, Any]:
        """Make a move of the human player; return the view at the next decision or the hand's end.

        `action` is the number of an action, or `{"to": chips}` for a bet or raise.
        """
        self.check_request_is_current(turn_id, is_over=False)
        move = find_requested_move(self.setup.game, self.current_hand.record[0], action)
        hand = self.current_hand.apply_move(move).play_opponents()
        self._set_and_save_current_hand(hand, len(self.current_hand.steps))
        return self.build_view()

    def deal_next_hand(self, turn_id: int) -> dict[str, Any]:
        """Deal the next hand; return the view at the human player's first decision."""
        self.check_request_is_current(turn_id, is_over=True)
        self._deal_next_hand()
        return self.build_view()

    def get_hint(self, turn_id: int) -> dict[str, Any]:
        """Return the adviser's policy by groups of moves, and the hand's expected payoff.

        The payoff is that of the human player, estimated by the adviser's critic, in the unit of
        results, such as mbb; `text` is a sentence about it. If the adviser has no critic, the
        payoff is None and `text` is "".
        """
        self.check_request_is_current(turn_id, is_over=False)
        if self.setup.adviser is None:
            raise RequestNotAllowedError("Nobody gives advice at this table.")
        adviser, game = self.setup.adviser.player, self.setup.game
        record, value, text = self.current_hand.record, None, ""
        if (payoffs := adviser.state_values(record.copy())) is not None:
            scale, unit = get_result_scale_and_unit(game)
            value = float(payoffs[0]) * scale
            unit = "mbb" if unit == "mbb/hand" else f"{game.unit}s"
            text = (
                f"Its expected payoff of the whole {game.hand_noun}: {format_signed(value)} {unit}"
            )
        return {"probs": list_move_groups(game, adviser, record), "value": value, "text": text}

    def review_hand(self, hand_number: int) -> dict[str, Any]:
        """Return a finished hand with all cards shown and the human player's moves graded.

        `before` and `after` are the numbers of the adjacent finished hands, or None.
        """
        hand, game = self._rebuild_finished_hand(hand_number), self.setup.game
        numbers = [None, *self._finished_hands, None]
        before, _, after = numbers[numbers.index(hand_number) - 1 :][:3]
        view = build_hand_view(hand, len(hand.steps))
        return {
            "hand": hand_number,
            "before": before,
            "after": after,
            "players": view["players"],
            **view["result"],
            "steps": review_all_decisions(hand),
            "grades": explain_grades(game.unit),
        }

    def format_hand(self, hand_number: int, kind: str) -> str:
        """Return a finished hand as text, or in PokerKit's PHH format if `kind` is "phh"."""
        hand = self._rebuild_finished_hand(hand_number)
        if kind != "phh":
            return format_hand(hand)
        names = [self.setup.player_names[player_index] for player_index in hand.player_of_seat]
        try:
            return format_phh(self.setup.game, hand.history, names)
        except ConfigError as error:
            raise RequestNotAllowedError(f"{error}.") from None

    def format_all_hands(self, kind: str) -> str:
        """Return all finished hands as one text; `kind` is as in `format_hand`."""
        texts = {one: self.format_hand(one, kind) for one in self._finished_hands}
        if kind == "phh":
            return "\n".join(f"[{one}]\n{text}" for one, text in texts.items())
        return "\n\n".join(texts.values()) + "\n"

    def _rebuild_finished_hand(self, hand_number: int) -> LiveHand:
        """Return a finished hand with its moves; raise RequestNotAllowedError if there is none."""
        if hand_number not in self._finished_hands:
            noun = self.setup.game.hand_noun
            raise RequestNotAllowedError(f"There is no finished {noun} {hand_number}.")
        return rebuild_finished_hand(self.setup, self._seed, self._finished_hands[hand_number])

    def check_request_is_current(self, turn_id: int, is_over: bool) -> None:
        """Raise an error if `turn_id` is outdated, or the present hand's `is_over` differs."""
        if turn_id != self.turn_id:
            raise StaleRequestError(self.build_view())
        if self.current_hand.is_over != is_over:
            state = "not over" if is_over else "over"
            raise RequestNotAllowedError(f"The {self.setup.game.hand_noun} is {state}.")


def supports_phh(game: Game) -> bool:
    """Return whether hands of the game can be written in the PHH format."""
    with suppress(ConfigError):
        check_phh_support(game)
        return True
    return False
