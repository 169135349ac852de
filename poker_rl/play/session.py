"""Session of one human player: hand after hand, saved to a file.

Views contain only what the human player may know. A session is not thread-safe; the server locks it
during a request.

A request changes the session and its file, or neither of them. There is one exception: if an
opponent's policy fails before the human player's first decision of a hand, only the file records
that the hand was dealt. A hand that was not finished when the program ended counts as abandoned,
because the person may have seen cards; the next hand has a new deck. Resuming a session writes
nothing to the file until the first move.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from poker_rl.config.validation import ConfigError
from poker_rl.evaluation.matches.duplicate_match import get_result_unit
from poker_rl.evaluation.starting_hand_grid import (
    compute_hand_grid_of_table,
    grid_to_dict,
    supports_hand_grid,
)
from poker_rl.games.game import Game
from poker_rl.games.hand_history import HandHistory
from poker_rl.games.poker.display.view import DisplayedPoker
from poker_rl.games.poker.phh import check_phh_support, format_phh
from poker_rl.play.grading import compute_probs, explain_grades, solve_small_game
from poker_rl.play.hand_review import review_decisions
from poker_rl.play.hand_text import format_hand
from poker_rl.play.hand_view import hand_to_dict, players_to_dicts, view_to_dict
from poker_rl.play.live_hand import (
    PERSON_INDEX,
    LiveHand,
    NamedPlayer,
    TableSetup,
    deal_hand,
    rebuild_hand,
    replay_to_end,
)
from poker_rl.play.move_groups import group_moves
from poker_rl.play.move_requests import MoveNotAllowedError, find_requested_move
from poker_rl.play.session_journal import SessionJournal
from poker_rl.play.session_statistics import SessionStatistics

MAX_DECISIONS_PER_HAND = 1000  # no hand has more, which makes each `turn_id` unique


class StaleRequestError(Exception):
    """Error raised if a request was made from a view that is outdated by now."""


@dataclass(frozen=True)
class FinishedHand:
    """Cards, actions and payoffs of a hand that was played to its end."""

    history: HandHistory
    player_of_seat: tuple[int, ...]  # player index of each seat
    payoffs: list[int]  # chips, by player index
    luck_adjusted_payoff: float | None  # of the human player, in chips, by AIVAT; None if unknown


class Session:
    """Session of one human player at one table.

    Args:
        setup: game, opponents and adviser.
        seed: seed of all randomness in the session.
        session_id: id of the session, which is also the name of its file.
        journal: the file of the session; None to save nothing.

    Attributes:
        notice: warning to the person if the session's file was damaged, else "".
    """

    def __init__(
        self, setup: TableSetup, seed: int, session_id: str, journal: SessionJournal | None
    ) -> None:
        self.setup, self.session_id, self.notice = setup, session_id, ""
        self._seed, self._journal = seed, journal
        _, self._result_unit = get_result_unit(setup.game)
        self._player_names = setup.list_player_names()
        self._supports_phh = supports_phh(setup.game)
        self._statistics = SessionStatistics(setup.game, self._player_names)
        self._finished_hands: dict[int, FinishedHand] = {}
        self._hands_dealt = 0  # including abandoned hands
        self._pending_lines: tuple[dict[str, Any], ...] = ()  # lines not yet in the file

    @classmethod
    def create(
        cls, setup: TableSetup, folder: Path | None = None, seed: int | None = None
    ) -> Session:
        """Start a session with its first hand.

        Args:
            setup: game, opponents and adviser.
            folder: folder for the session's file; None to save nothing.
            seed: seed of all randomness in the session; None for a random one.
        """
        seed = secrets.randbits(60) if seed is None else seed
        session_id = secrets.token_hex(8)
        journal = None
        if folder is not None:
            first_line = {"session": session_id, "seed": seed, "table": setup.to_dict()}
            journal = SessionJournal.create(folder / f"{session_id}.jsonl", first_line)
        session = cls(setup, seed, session_id, journal)
        session._deal_next_hand()
        return session

    @classmethod
    def resume(cls, path: Path, setup: TableSetup) -> Session:
        """Resume the session of a file at the end of its last finished hand.

        Raises:
            ConfigError: if the file is not a session's, belongs to another table, or is in use.
        """
        journal = SessionJournal(path)
        try:
            session = cls._restore(journal, setup)
        except BaseException:
            journal.close()
            raise
        session._journal = journal
        return session

    @classmethod
    def _restore(cls, journal: SessionJournal, setup: TableSetup) -> Session:
        """Rebuild a session from its file; `resume` lets it write to the file afterwards."""
        path = journal.path
        lines, has_incomplete_line = journal.read_lines()
        first_line = lines[0] if lines else {}
        session_id, seed = first_line.get("session"), first_line.get("seed")
        if not isinstance(session_id, str) or type(seed) is not int or seed < 0:
            raise ConfigError(f"{path}: the first line is not that of a session")
        own_table, saved_table = setup.to_dict(), first_line.get("table")
        if saved_table != own_table:
            saved_table = saved_table if isinstance(saved_table, dict) else {}
            key = next(
                key for key in own_table | saved_table if saved_table.get(key) != own_table.get(key)
            )
            raise ConfigError(
                f"{path} is of a table with another {key}; leave {key} out to take it"
            )
        session = cls(setup, seed, session_id, None)
        for line_number, line in enumerate(lines[1:], 2):
            try:
                session._restore_from_line(line)
            except (ArithmeticError, LookupError, TypeError, ValueError):
                raise ConfigError(
                    f"{path}: line {line_number} is no hand of {setup.game.name}"
                ) from None
        if has_incomplete_line:
            session.notice = f"The last line of {path} was incomplete and is ignored."
        if session._finished_hands:
            last_number = max(session._finished_hands)
            hand = session._rebuild_finished_hand(last_number)
            decision_count = sum(
                hand.player_of_seat[step.seat] == PERSON_INDEX for step in hand.steps
            )
            session._set_current_hand(hand, len(hand.steps), decision_count)
        else:
            session._deal_next_hand()
        return session

    def close(self) -> None:
        """Close the session's file."""
        if self._journal is not None:
            self._journal.close()

    def _restore_from_line(self, line: Mapping[str, Any]) -> None:
        """Restore the hand in a line of the file.

        Raises:
            ArithmeticError, LookupError, TypeError, ValueError: if the line is invalid.
        """
        if "dealt" in line:
            self._hands_dealt = _parse_hand_number(line["dealt"])
            return
        hand_number, player_of_seat = (
            _parse_hand_number(line["hand"]),
            tuple(line["player_of_seat"]),
        )
        if hand_number in self._finished_hands:
            raise ValueError
        deck, actions = _parse_integers(line["deck"]), _parse_integers(line["actions"])
        history = HandHistory(deck, actions, int(line["variant"]))
        record = replay_to_end(self.setup, history)
        live_hand = LiveHand(self.setup, self._seed, hand_number, player_of_seat, record)
        player_indices = set(range(self.setup.game.seats))
        are_seats_valid = (
            PERSON_INDEX in player_of_seat
            and len(set(player_of_seat)) == len(player_of_seat)
            and player_indices.issuperset(player_of_seat)
        )
        luck_adjusted_payoff = None if line["ev_adjusted"] is None else float(line["ev_adjusted"])
        is_luck_valid = luck_adjusted_payoff is None or isfinite(luck_adjusted_payoff)
        if (
            not live_hand.is_over
            or not are_seats_valid
            or not is_luck_valid
            or live_hand.compute_payoffs() != line["won"]
        ):
            raise ValueError
        self._add_finished(
            hand_number,
            FinishedHand(history, player_of_seat, line["won"], luck_adjusted_payoff),
            record,
        )

    def _add_finished(self, hand_number: int, finished: FinishedHand, record: np.ndarray) -> None:
        self._finished_hands[hand_number] = finished
        self._statistics.add_hand(
            record, finished.player_of_seat, finished.payoffs, finished.luck_adjusted_payoff
        )

    def _deal_next_hand(self) -> None:
        """Deal the next hand and play it to the human player's first decision."""
        hand_number = self._hands_dealt + 1
        self._write_lines({"dealt": hand_number})
        self._advance_to(deal_hand(self.setup, self._seed, hand_number).play_to_person(), 0, 0)
        self._hands_dealt = hand_number

    def _advance_to(self, hand: LiveHand, steps_seen: int, decision_count: int) -> None:
        """Make this hand the present one; a finished hand is saved before the person sees its end.

        Args:
            hand: the hand after the last move.
            steps_seen: number of its moves that the person has seen before.
            decision_count: number of the person's decisions in it so far.
        """
        if hand.is_over:
            history = hand.deck_and_actions
            finished = FinishedHand(
                history,
                hand.player_of_seat,
                hand.compute_payoffs(),
                hand.compute_luck_adjusted_payoff(),
            )
            self._write_lines(
                {
                    "hand": hand.hand_number,
                    "variant": history.variant,
                    "deck": history.deck,
                    "player_of_seat": hand.player_of_seat,
                    "actions": history.actions,
                    "won": finished.payoffs,
                    "ev_adjusted": finished.luck_adjusted_payoff,
                }
            )
            self._add_finished(hand.hand_number, finished, hand.record)
        else:
            self._write_lines()
        self._set_current_hand(hand, steps_seen, decision_count)

    def _write_lines(self, *lines: dict[str, Any]) -> None:
        """Append pending and new lines to the file; without a file, keep them pending."""
        lines = (*self._pending_lines, *lines)
        if self._journal is not None and lines:
            self._journal.append_lines(*lines)
            lines = ()
        self._pending_lines = lines

    def _set_current_hand(self, hand: LiveHand, steps_seen: int, decision_count: int) -> None:
        """Set the present hand; the arguments are those of `_advance_to`."""
        self._current_hand, self._steps_seen, self._decision_count = (
            hand,
            steps_seen,
            decision_count,
        )

    @property
    def current_hand(self) -> LiveHand:
        """Return the present hand."""
        return self._current_hand

    @property
    def turn_id(self) -> int:
        """Return the number of the present decision, which grows during the whole session."""
        return self._current_hand.hand_number * MAX_DECISIONS_PER_HAND + self._decision_count

    def build_view(self) -> dict[str, Any]:
        """Return everything that the human player may know now, as plain values."""
        game, adviser = self.setup.game, self.setup.adviser
        return {
            "session": {
                "id": self.session_id,
                "game": game.name,
                "unit": self._result_unit,
                "cost_unit": game.unit,
                "seats": game.seats,
                "hand_noun": game.hand_noun,
                "adviser": adviser and self.setup.short_names[adviser.name],
                "adviser_full_name": adviser and adviser.name,
                "notice": self.notice,
                "phh": self._supports_phh,
                "grid": supports_hand_grid(game),
            },
            "turn": self.turn_id,
            **hand_to_dict(self._current_hand, self._steps_seen, self._player_names),
            "stats": self.summarize_statistics(),
        }

    def act(self, turn_id: int, action: int | dict[str, int]) -> dict[str, Any]:
        """Make a move of the human player and return the next view.

        Args:
            turn_id: `turn_id` in the view from which the move was made.
            action: number of the action, or `{"to": chips}` for a bet or raise.

        Raises:
            StaleRequestError: if `turn_id` is not the present one.
            MoveNotAllowedError: if the hand is over or the move is illegal.
        """
        self._check_turn(turn_id)
        if self._current_hand.is_over:
            raise MoveNotAllowedError(f"The {self.setup.game.hand_noun} is over.")
        move = find_requested_move(self.setup.game, self._current_hand.record[0], action)
        hand = self._current_hand.play_move(move).play_to_person()
        self._advance_to(hand, len(self._current_hand.steps), self._decision_count + 1)
        return self.build_view()

    def deal_next_hand(self, turn_id: int) -> dict[str, Any]:
        """Deal the next hand and return its view.

        Raises:
            StaleRequestError: if `turn_id` is not the present one.
            MoveNotAllowedError: if the present hand is not over.
        """
        self._check_turn(turn_id)
        if not self._current_hand.is_over:
            raise MoveNotAllowedError(f"The {self.setup.game.hand_noun} is not over.")
        self._deal_next_hand()
        return self.build_view()

    def get_hint(self, turn_id: int) -> dict[str, Any]:
        """Return the adviser's policy by groups of moves, and the expected payoff of the hand.

        The payoff is in the unit of the statistics, and None if the adviser has no critic.

        Raises:
            StaleRequestError: if `turn_id` is not the present one.
            MoveNotAllowedError: if the hand is over, or there is no adviser.
        """
        adviser, game = self._get_available_adviser(turn_id).player, self.setup.game
        record = self._current_hand.record
        state_values = adviser.state_values(record.copy())
        action_values = adviser.action_values(record.copy())
        groups = group_moves(game, record, compute_probs(game, adviser, record), action_values)
        return {
            "probs": [vars(group) for group in groups],
            "value": None
            if state_values is None
            else float(state_values[0]) * get_result_unit(game)[0],
        }

    def get_grid(self, turn_id: int) -> dict[str, Any]:
        """Return the adviser's policy for every starting hand, as a grid in plain values.

        Raises:
            StaleRequestError: if `turn_id` is not the present one.
            MoveNotAllowedError: if the hand is over, there is no adviser, or it is not hold'em.
        """
        adviser, game = self._get_available_adviser(turn_id).player, self.setup.game
        if not (supports_hand_grid(game) and isinstance(game, DisplayedPoker)):
            raise MoveNotAllowedError("Only hold'em has a grid of starting hands.")
        grid = compute_hand_grid_of_table(game, adviser, self._current_hand.record[0])
        return grid_to_dict(grid, game.ranks)

    def _get_available_adviser(self, turn_id: int) -> NamedPlayer:
        """Return the adviser; raise an error if there is none, or no decision to advise on."""
        self._check_turn(turn_id)
        if self.setup.adviser is None:
            raise MoveNotAllowedError("Nobody gives advice at this table.")
        if self._current_hand.is_over:
            raise MoveNotAllowedError(f"The {self.setup.game.hand_noun} is over.")
        return self.setup.adviser

    def review_hand(self, hand_number: int) -> dict[str, Any]:
        """Return a finished hand with all cards face up and the human player's moves graded.

        `before` and `after` in the result are the numbers of the adjacent finished hands, or None.

        Raises:
            MoveNotAllowedError: if there is no such hand.
        """
        hand, game = self._rebuild_finished_hand(hand_number), self.setup.game
        steps = review_decisions(hand)
        costs = [step["grade"]["cost"] for step in steps if step["grade"]]
        return {
            "hand": hand_number,
            "before": max((one for one in self._finished_hands if one < hand_number), default=None),
            "after": min((one for one in self._finished_hands if one > hand_number), default=None),
            "won": hand.compute_payoffs(),
            "players": players_to_dicts(hand, self._player_names),
            "shown": view_to_dict(game.build_view(hand.record[0], None)),
            "steps": steps,
            "grades": explain_grades(game.unit, costs, solve_small_game(game) is not None),
        }

    def format_hand_text(self, hand_number: int) -> str:
        """Return a finished hand as text.

        Raises:
            MoveNotAllowedError: if there is no such hand.
        """
        return format_hand(self._rebuild_finished_hand(hand_number), self._player_names)

    def format_hand_phh(self, hand_number: int) -> str:
        """Return a finished hand in the PHH format, which PokerKit reads.

        Raises:
            MoveNotAllowedError: if there is no such hand, or PHH does not support the game.
        """
        hand = self._rebuild_finished_hand(hand_number)
        try:
            return format_phh(
                self.setup.game,
                hand.deck_and_actions,
                [self._player_names[player] for player in hand.player_of_seat],
            )
        except ConfigError as error:
            raise MoveNotAllowedError(f"{error}.") from None

    def format_all_hands(self, kind: str) -> str:
        """Return all finished hands as one text.

        Args:
            kind: "phh" for the PHH format with a section for each hand, else plain text.

        Raises:
            MoveNotAllowedError: if PHH does not support the game.
        """
        numbers = sorted(self._finished_hands)
        if kind == "phh":
            return "\n".join(f"[{one}]\n{self.format_hand_phh(one)}" for one in numbers)
        return "\n\n".join(self.format_hand_text(one) for one in numbers) + "\n"

    def summarize_statistics(self) -> dict[str, Any]:
        """Return the statistics of the session (`SessionStatistics.summarize`)."""
        open_hands = int(not self._current_hand.is_over)
        return self._statistics.summarize(
            self._hands_dealt - len(self._finished_hands) - open_hands
        )

    def _rebuild_finished_hand(self, hand_number: int) -> LiveHand:
        """Return a finished hand with all its moves; raise MoveNotAllowedError if there is none."""
        if hand_number not in self._finished_hands:
            raise MoveNotAllowedError(
                f"There is no finished {self.setup.game.hand_noun} {hand_number}."
            )
        finished = self._finished_hands[hand_number]
        return rebuild_hand(
            self.setup, self._seed, hand_number, finished.player_of_seat, finished.history
        )

    def _check_turn(self, turn_id: int) -> None:
        if turn_id != self.turn_id:
            raise StaleRequestError("You have moved on in another tab; this is the table now.")


def _parse_hand_number(value: Any) -> int:
    """Return a value from a file if it is the number of a hand; else raise a ValueError."""
    if type(value) is not int or value < 1:
        raise ValueError
    return value


def _parse_integers(values: Any) -> tuple[int, ...]:
    """Return a value from a file as a tuple if it is a list of integers; else raise ValueError."""
    if type(values) is not list or not all(type(value) is int for value in values):
        raise ValueError
    return tuple(values)


def supports_phh(game: Game) -> bool:
    """Return whether hands of the game can be written in the PHH format."""
    try:
        check_phh_support(game)
    except ConfigError:
        return False
    return True
