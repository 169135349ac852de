"""A person's session: every game through it, nothing hidden in a view, nothing finished lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from other_deals import other_deals
from random_games import NAMES, game

from poker_rl.config.settings import Refused
from poker_rl.evaluation.exploitability import losses
from poker_rl.evaluation.matches import FEWEST_DEALS, unit_of
from poker_rl.games.tables import Tables
from poker_rl.games.tree import tree_of
from poker_rl.play import review
from poker_rl.play.journal import InUse, Journal
from poker_rl.play.moves import NotAllowed
from poker_rl.play.session import Session, Stale
from poker_rl.play.statistics import Statistics
from poker_rl.play.table import Dealt, Seated, Table
from poker_rl.players.load import load_player

HANDS = 50


def table(name: str, opponent: str = "uniform", adviser: str | None = None) -> Table:
    played = game(name)
    seated = Seated(opponent, load_player(opponent, played))
    asked = None if adviser is None else Seated(adviser, load_player(adviser, played))
    return Table(played, [seated] * (played.seats - 1), asked)


def play(session: Session, hands: int, seed: int = 0) -> list[dict[str, Any]]:
    """Hands that the person plays by random legal moves; the view at the end of each.

    The moves of a hand depend on its number alone, not on the hands before.
    """
    ends = []
    view = session.view()
    while len(ends) < hands:
        generator = np.random.default_rng([seed, view["hand"]])
        if view["phase"] == "over" and view["hand"] in [end["hand"] for end in ends]:
            view = session.next_hand(view["turn"])
            continue
        while view["phase"] == "act":
            move = view["moves"][int(generator.integers(len(view["moves"])))]
            view = session.act(view["turn"], move["action"])
        ends.append(view)
    return ends


def timeless(view: dict[str, Any]) -> dict[str, Any]:
    """What is the same of a session that was played again."""
    return {key: value for key, value in view.items() if key not in ("session", "stats")}


def at_once(view: dict[str, Any]) -> dict[str, Any]:
    """The same view with nothing of the hand told as new."""
    new = [{"seat": one["seat"], "label": one["label"]} for one in view["events"]]
    return timeless(view) | {"past": view["past"] + new, "events": []}


@pytest.mark.parametrize("name", NAMES)
def test_hands_of_every_game(name: str, tmp_path: Path) -> None:
    """Played in one go, and with a restart in the middle: the same hands, and the same figures."""
    whole = Session.new(table(name), None, 7)
    ends = play(whole, HANDS)
    first = Session.new(table(name), tmp_path, 7)
    begun = play(first, HANDS // 2)
    first.close()
    (file,) = tmp_path.iterdir()
    second = Session.resumed(file, table(name))
    assert at_once(second.view()) == at_once(begun[-1])
    assert second.name == first.name
    again = begun + play(second, HANDS - HANDS // 2 + 1)[1:]
    assert [timeless(view) for view in again] == [timeless(view) for view in ends]
    assert second.stats() == whole.stats()

    stats = whole.stats()
    assert stats["hands"] == HANDS
    assert stats["abandoned"] == 0
    won = sum(view["result"]["won"][0] for view in ends)
    assert stats["won"] == won
    assert stats["curve"][-1] == pytest.approx(won * unit_of(game(name))[0])
    seats = {view["ring"][0]["seat"] for view in ends}
    assert seats >= set(range(game(name).record["seats"].min()))  # the button goes round
    for view in ends:
        assert sum(view["result"]["won"]) == 0
        assert json.loads(json.dumps(view))["result"]["won"] == view["result"]["won"]
        at = [one["seat"] for one in view["ring"] if one["seat"] is not None]
        assert sorted(at) == list(range(len(view["scene"]["places"])))
    text = whole.text(HANDS)
    assert text.startswith(f"{name}, {game(name).hand} {HANDS}\n")
    assert "you" in text


def hidden_changed(hand: Dealt) -> list[np.ndarray]:
    """The table with other cards in the deck's places that the person does not see."""
    return [
        np.array([record]) for record in other_deals(hand.table.game, hand.record[0], hand.yours, 2)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_view_depends_on_what_the_person_knows_alone(name: str) -> None:
    session = Session.new(table(name), None, 3)
    view, checked = session.view(), 0
    generator = np.random.default_rng(2)
    while view["hand"] < 6:
        if view["phase"] == "over":
            view = session.next_hand(view["turn"])
            continue
        hand = session._hand
        for record in hidden_changed(hand):
            session._hand = replace(hand, record=record)
            assert session.view() == view
            checked += 1
        session._hand = hand
        text = json.dumps(view)
        for hidden in ("deck", "seed", "key", "draws", str(session._seed)):
            assert f'"{hidden}"' not in text.replace('"key": "', "")
        moves = view["moves"][-2:]
        view = session.act(view["turn"], moves[int(generator.integers(len(moves)))]["action"])
    assert checked > 5


def test_what_is_not_allowed_changes_nothing() -> None:
    session = Session.new(table("nolimit_holdem", "call", "uniform"), None, 1)
    view = session.view()
    for action in (True, 1.0, "1", None, -1, 3, 10**30, {"to": 3}, {"to": "9"}, {}, {"to": 201}):
        with pytest.raises(NotAllowed):
            session.act(view["turn"], action)  # type: ignore[arg-type]
        assert session.view() == view
    with pytest.raises(NotAllowed, match="from 4 to 200"):
        session.act(view["turn"], {"to": 3})
    with pytest.raises(NotAllowed, match="not over"):
        session.next_hand(view["turn"])
    with pytest.raises(NotAllowed, match="no finished hand 1"):
        session.review(1)
    assert session.view() == view
    after = session.act(view["turn"], {"to": 11})
    assert after["events"][0]["label"] == "Raise to 11"
    assert after["turn"] > view["turn"]
    with pytest.raises(Stale):
        session.act(view["turn"], 1)
    with pytest.raises(Stale):
        session.hint(view["turn"])
    assert session.view() == after


def test_kuhn_offers_no_amounts() -> None:
    session = Session.new(table("kuhn"), None, 1)
    view = session.view()
    with pytest.raises(NotAllowed, match="can't choose an amount"):
        session.act(view["turn"], {"to": 1})
    with pytest.raises(NotAllowed, match="Nobody gives advice"):
        session.hint(view["turn"])
    assert session.view() == view


def test_the_wrong_number_of_players_is_refused() -> None:
    three = game("kuhn_3p")
    with pytest.raises(Refused, match="against: 1 players for the 2 other seats of kuhn_3p"):
        Table(three, [Seated("uniform", load_player("uniform", three))])


def test_a_hint_is_the_advisers_policy() -> None:
    session = Session.new(table("leduc", "call", "raise"), None, 1)
    chances = session.hint(session.view()["turn"])["chances"]
    assert [(one["label"], one["chance"]) for one in chances] == [("Check", 0.0), ("Bet 2", 1.0)]


def test_hints_have_values_and_grids() -> None:
    """A grid is of the board and what happened alone, and its cell of one's own hand fits."""
    session = Session.new(table("limit_holdem", "call", "lhe_ppo"), None, 1)
    view = session.view()
    for _ in range(2):
        hint, grid = session.hint(view["turn"]), session.grid(view["turn"])
        hand = session._hand
        for record in hidden_changed(hand):
            session._hand = replace(hand, record=record)
            assert (session.hint(view["turn"]), session.grid(view["turn"])) == (hint, grid)
        session._hand = hand
        assert abs(hint["value"]) < 48_000  # mbb; a hand takes 48 big blinds at most
        assert len(grid["chances"]) == 13
        assert sum(grid["chances"][0][0]) == pytest.approx(1)
        view = session.act(view["turn"], 1)
    assert Session.new(table("leduc", "call", "raise"), None, 1).hint(1000)["value"] is None
    with pytest.raises(NotAllowed, match="Only hold'em"):
        Session.new(table("leduc", "call", "raise"), None, 1).grid(1000)


def test_a_hand_as_phh() -> None:
    session = Session.new(table("nolimit_holdem_6p", "call"), None, 1)
    (end,) = play(session, 1)
    assert end["session"]["phh"]
    fields = tomllib.loads(session.phh(1))
    shares = [
        b - a for a, b in zip(fields["starting_stacks"], fields["finishing_stacks"], strict=True)
    ]
    assert shares == [end["result"]["won"][place] for place in session._hand.ring]
    assert [fields["players"].index("you")] == [end["ring"][0]["seat"]]
    kuhn = Session.new(table("kuhn"), None, 1)
    (end,) = play(kuhn, 1)
    assert not end["session"]["phh"]
    with pytest.raises(NotAllowed, match="can't be written as PHH"):
        kuhn.phh(1)


def test_losses_by_an_advisers_values() -> None:
    """Where no equilibrium is known a move costs what the adviser's own values say."""

    class Valuing:
        def __init__(self, of: Any) -> None:
            self.probabilities = of.probabilities

        def action_values(self, records: np.ndarray) -> np.ndarray:
            return np.array([[np.nan, -1.0, 3.0]])

    played = game("limit_holdem")
    player = load_player("call", played)
    adviser = Seated("valuing", Valuing(player))  # type: ignore[arg-type]
    session = Session.new(Table(played, [Seated("call", player)], adviser), None, 1)
    view = session.view()
    while view["phase"] == "act":
        view = session.act(view["turn"], 1)
    grades = [step["grade"] for step in session.review(1)["steps"] if step["grade"]]
    assert grades
    assert {grade["loss"] for grade in grades} == {4 * 1000 / played.unit_chips}


@pytest.mark.parametrize(("share", "mistake"), [(0.03, True), (0.04, False)])
def test_what_the_adviser_seldom_does_is_a_mistake(share: float, mistake: bool) -> None:
    class Seldom:
        def probabilities(self, records: np.ndarray) -> np.ndarray:
            legal = legal_of(records)
            rest = (1 - share) / (legal.sum(1, keepdims=True) - 1)
            return np.where(np.arange(legal.shape[1]) == 1, share, rest) * legal

        def action_values(self, records: np.ndarray) -> None:
            return None

    played = game("limit_holdem")

    def legal_of(records: np.ndarray) -> np.ndarray:
        tables = Tables(played, len(records), 0)
        tables.use(records)
        return tables.legal()

    call = Seated("call", load_player("call", played))
    session = Session.new(Table(played, [call], Seated("seldom", Seldom())), None, 1)  # type: ignore[arg-type]
    view = session.view()
    while view["phase"] == "act":
        view = session.act(view["turn"], 1)  # calls
    grades = [step["grade"] for step in session.review(1)["steps"] if step["grade"]]
    assert {round(grade["share"], 6) for grade in grades} == {share}
    assert {grade["mistake"] for grade in grades} == {mistake}


def test_earlier_hands_are_reviewed_with_their_own_ring() -> None:
    session = Session.new(table("leduc"), None, 7)
    ends = play(session, 3)
    reviews = [session.review(number) for number in (1, 2, 3)]
    assert [(one["before"], one["after"]) for one in reviews] == [(None, 2), (1, 3), (2, None)]
    for end, one in zip(ends, reviews, strict=True):
        assert (one["ring"], one["shown"]) == (end["ring"], end["result"]["shown"])


def test_drawn_seats_always_have_the_person() -> None:
    ends = play(Session.new(table("limit_holdem_2to9", "call"), None, 5), HANDS)
    counts = {len(view["scene"]["places"]) for view in ends}
    assert counts == set(range(2, 10))
    present = [[one["seat"] is not None for one in view["ring"]] for view in ends]
    assert all(there[0] for there in present)
    assert {tuple(there) for there in present} != {tuple(sorted(t)) for t in present}
    hands = ends[-1]["stats"]["opponents"]
    assert sum(one["hands"] for one in hands) == sum(sum(there) - 1 for there in present)


KILLED = """
import sys
from dataclasses import replace
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_session import play, table
from poker_rl.play.session import Session
session = Session.new(table("kuhn"), Path(sys.argv[2]), 7)
while True:
    (view,) = play(session, 1)
    print(view["hand"], view["result"]["won"][0], flush=True)
    session.next_hand(view["turn"])
"""


def test_kill_9_loses_no_finished_hand(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert child.stdout is not None
    shown = [child.stdout.readline() for _ in range(20)]
    child.send_signal(signal.SIGKILL)
    shown += child.stdout.read().splitlines(keepends=True)
    child.wait()
    won = [int(line.split()[1]) for line in shown if line.endswith("\n")]
    (file,) = tmp_path.iterdir()
    stats = Session.resumed(file, table("kuhn")).stats()
    assert stats["hands"] in (len(won), len(won) + 1)  # one may not have been printed yet
    assert [won[0], *np.diff(stats["curve"][1:])][: len(won)] == won
    assert stats["abandoned"] <= 1


def test_an_unfinished_hand_is_abandoned_and_a_torn_line_dropped(tmp_path: Path) -> None:
    session = Session.new(table("leduc"), tmp_path, 7)
    ends = play(session, 3)
    unfinished = session.next_hand(ends[-1]["turn"])
    (file,) = tmp_path.iterdir()
    with file.open("a") as torn:
        torn.write('{"hand": 4, "var')
    session.close()
    again = Session.resumed(file, table("leduc"))
    assert "torn" in again.notice
    assert again.stats()["hands"] == 3
    assert again.stats()["abandoned"] == 1
    assert again.view()["hand"] == 3
    with pytest.raises(Stale):
        again.act(unfinished["turn"], 1)
    view = again.next_hand(again.view()["turn"])
    assert view["hand"] == 5
    assert again.stats()["abandoned"] == 1
    again.close()
    assert Session.resumed(file, table("leduc")).notice == ""


def test_a_hand_that_cant_be_written_down_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full at the end of a hand: nothing is lost, and the same move ends it later."""
    session = Session.new(table("kuhn", "call"), tmp_path, 7)
    (file,) = tmp_path.iterdir()
    before, view = file.read_bytes(), session.view()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as error:
            session.act(view["turn"], 1)
    assert error.value.filename == str(file)
    assert session.view() == view
    assert view["phase"] == "act"
    assert file.read_bytes() == before
    assert session.act(view["turn"], 1)["phase"] == "over"
    session.close()
    assert Session.resumed(file, table("kuhn", "call")).stats()["hands"] == 1


RESUMED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_session import table
from poker_rl.play.session import Session
try:
    Session.resumed(Path(sys.argv[2]), table("kuhn"))
except Exception as error:
    print(error)
"""


def test_a_session_is_played_in_one_place_at_a_time(tmp_path: Path) -> None:
    begun = Session.new(table("kuhn"), tmp_path, 7)
    play(begun, 2)
    (file,) = tmp_path.iterdir()
    told = f"{file} is in use: its session is open somewhere else"
    with pytest.raises(InUse, match="is in use") as error:
        Session.resumed(file, table("kuhn"))
    assert str(error.value) == told
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    arguments = [sys.executable, "-c", RESUMED, str(Path(__file__).parent), str(file)]
    other = subprocess.run(
        arguments, capture_output=True, text=True, check=True, env=os.environ | path
    )
    assert other.stdout == f"{told}\n"
    begun.close()
    resumed = Session.resumed(file, table("kuhn"))
    assert resumed.stats()["hands"] == 2
    del resumed  # whoever is dropped needs no closing
    again = Session.resumed(file, table("kuhn"))
    play(again, 2)
    assert again.stats()["hands"] == 3


def test_a_hand_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    play(Session.new(table("kuhn"), tmp_path, 7), 2)
    (file,) = tmp_path.iterdir()
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines, lines[-1]]))
    with pytest.raises(Refused, match=f"line {len(lines) + 1} is no hand of kuhn"):
        Session.resumed(file, table("kuhn"))


def line_changed(file: Path, number: int, **changes: Any) -> Path:
    """A copy of a session's file in which one line is another."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[number] |= changes
    copy = file.with_name("copy.jsonl")
    copy.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return copy


def test_files_that_are_no_sessions_are_refused(tmp_path: Path) -> None:
    play(Session.new(table("kuhn"), tmp_path, 7), 2)
    (file,) = tmp_path.iterdir()
    hand = json.loads(file.read_text().splitlines()[2])
    with pytest.raises(Refused, match="another against"):
        Session.resumed(file, table("kuhn", "call"))
    with pytest.raises(Refused, match="another game"):
        Session.resumed(file, table("leduc"))
    later = line_changed(file, 0, table=table("kuhn").state() | {"stakes": 2})
    with pytest.raises(Refused, match="another stakes"):
        Session.resumed(later, table("kuhn"))
    later.unlink()
    with pytest.raises(Refused, match="is not a file"):
        Session.resumed(tmp_path / "none.jsonl", table("kuhn"))
    wrong: list[tuple[str, Any]] = [
        ("deck", [2, 2]),
        ("deck", "20"),
        ("actions", [9]),
        ("actions", [hand["actions"]]),
        ("ring", [1, 1]),
        ("won", [-won for won in hand["won"]]),
        ("variant", 3),
        ("lucky", float("inf")),
    ]
    for key, value in wrong:
        with pytest.raises(Refused, match="line 3 is no hand of kuhn"):
            Session.resumed(line_changed(file, 2, **{key: value}), table("kuhn"))
    for dealt in (0, -5, 2.5, True):
        with pytest.raises(Refused, match="line 2 is no hand of kuhn"):
            Session.resumed(line_changed(file, 1, dealt=dealt), table("kuhn"))
    with pytest.raises(Refused, match="first line"):
        Session.resumed(line_changed(file, 0, seed="7"), table("kuhn"))
    copy = line_changed(file, 2)
    copy.write_text(copy.read_text() + "[" * 100_000 + "\n")
    with pytest.raises(Refused, match="is no line of a session"):
        Session.resumed(copy, table("kuhn"))
    file.write_text("[]\n")
    with pytest.raises(Refused, match="line 1 is no line"):
        Journal(file).read()


# What moves of Kuhn poker lose against its equilibria, whatever the first seat's chance to bet with
# the jack: seat, card and the actions before -> action -> antes.
KUHN = {
    "0 J": {"call": 0, "raise": 0},
    "0 Q": {"call": 0, "raise": 1 / 6},  # a bet earns -1/2, a check -1/3
    "0 K": {"call": 0, "raise": 0},
    "0 J cr": {"fold": 0, "call": 1},
    "0 Q cr": {"fold": 0, "call": 0},
    "0 K cr": {"fold": 3, "call": 0},
    "1 J r": {"fold": 0, "call": 1},
    "1 Q r": {"fold": 0, "call": 0},
    "1 K r": {"fold": 3, "call": 0},
}


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3])
def test_losses_in_kuhn_poker(alpha: float, tmp_path: Path) -> None:
    """After a check, with alpha: a king that does not bet forgoes the calls of a queen."""
    played = game("kuhn")
    bot = tmp_path / "bot.yaml"
    bot.write_text(f"_target_: poker_rl.players.equilibrium.Equilibrium\nalpha: {alpha}\n")
    tree = tree_of(played)
    lost = losses(tree, load_player(str(bot), played).probabilities(tree.records))
    checked = (1 / 3 + alpha) / (2 - alpha)  # a queen that calls, among its jacks and queens
    after_check = {"1 K c": {"call": checked, "raise": 0}}
    for name, of_action in {**KUHN, **after_check}.items():
        row = lost[tree.names.index(name)]
        for action, antes in of_action.items():
            number = ["fold", "call", "raise"].index(action)
            assert row[number] == pytest.approx(antes, abs=1e-9), (name, action)
    assert np.isnan(lost[~tree.legal]).all()


def test_a_review_of_kuhn_poker() -> None:
    """Grades are the hand-computed losses, and the shares those of the adviser."""
    session = Session.new(table("kuhn", "uniform", "call"), None, 7)
    graded = set()
    for view in play(session, 60):
        review = session.review(view["hand"])
        assert review["won"] == view["result"]["won"]
        line = ""
        for step in review["steps"]:
            action = next(one["move"] for one in step["chances"] if one["label"] == step["chosen"])
            card = step["scene"]["places"][step["seat"]]["cards"][0]
            name = f"{step['seat']} {card} {line}".strip()
            assert (step["grade"] is not None) == (step["ring"] == 0)
            if step["grade"] is not None:
                assert step["grade"]["share"] == (action == "call")
                assert step["grade"]["mistake"] == (action != "call")
                assert sum(one["chance"] for one in step["grade"]["equilibrium"]) == pytest.approx(
                    1
                )
                if name in KUHN:
                    assert step["grade"]["loss"] == pytest.approx(KUHN[name][action], abs=1e-6)
                    graded.add((name, action))
            line += action[0]
    assert {("0 Q", "raise"), ("1 K r", "fold"), ("0 J cr", "call")} <= graded


def test_several_may_ask_for_the_first_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "_solutions", {})
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(review.solution, [game("kuhn")] * 4))
    assert all(one is not None and one is found[0] for one in found)


def test_places_in_big_2() -> None:
    ends = play(Session.new(table("big2"), None, 7), 10)
    assert ends[-1]["stats"]["lucky"] is None
    places = [sum(won > view["result"]["won"][0] for won in view["result"]["won"]) for view in ends]
    assert ends[-1]["stats"]["places"] == [places.count(place) for place in range(4)]


def test_how_a_person_plays_is_counted() -> None:
    """Who always raises puts money in before every flop."""
    session, kinds = Session.new(table("limit_holdem", "call"), None, 7), []
    for _ in range(40):
        view = session.view()
        while view["phase"] == "act":
            kinds.append(view["moves"][-1]["kind"])
            view = session.act(view["turn"], view["moves"][-1]["action"])
        session.next_hand(view["turn"])
    stats = view["stats"]
    assert set(kinds) == {"bet", "raise"}
    assert stats["style"] == {"vpip": 1.0, "pfr": 1.0, "aggression": None}  # without a call
    assert stats["half_width"] > 0
    assert stats["goal"] in (100.0, 1000.0)
    assert stats["more_hands"] > 0
    assert stats["lucky"]["half_width"] < stats["half_width"]
    assert stats["opponents"][0]["mean"] == pytest.approx(-stats["mean"])


@pytest.mark.parametrize(("won", "goal"), [(1, 0.1), (2, 0.1), (4, 1.0), (9, 1.0)])
def test_the_interval_to_aim_at_is_near_a_tenth_of_the_spread(won: int, goal: float) -> None:
    counts = Statistics(game("kuhn"), ["You", "raise"])
    for sign in (1, -1) * FEWEST_DEALS:
        counts.add(np.zeros(1), [0, 1], [sign * won, -sign * won], None)
    assert counts.summary(abandoned=0)["goal"] == goal


def test_hands_to_come_and_results_without_luck_in_the_units_of_the_game() -> None:
    played = game("limit_holdem")  # whose results are told in thousandths of a big blind
    counts = Statistics(played, ["You", "call"])
    tables = Tables(played, 1, 0)
    tables.deal()
    while not tables.records["over"].all():
        tables.step(np.ones(1, np.int64))
    for number in range(FEWEST_DEALS):
        won = played.unit_chips * (1 if number % 2 else -1)
        counts.add(tables.records, [0, 1], [won, -won], played.unit_chips / 2)
    told = counts.summary(abandoned=0)
    assert told["lucky"]["mean"] == 500
    spread = 1000 * np.sqrt(FEWEST_DEALS / (FEWEST_DEALS - 1))
    needed = (told["half_width"] / told["goal"]) ** 2 * FEWEST_DEALS
    assert told["goal"] == 100
    assert told["half_width"] == pytest.approx(1.96 * spread / np.sqrt(FEWEST_DEALS), rel=0.1)
    assert told["more_hands"] == int(np.ceil(needed - FEWEST_DEALS))


def test_equal_results_tell_no_number_of_hands() -> None:
    """Who always folds the first bet of a hand loses the ante in each: there is no spread."""
    counts = Statistics(game("kuhn"), ["You", "raise"])
    for _ in range(FEWEST_DEALS + 1):
        counts.add(np.zeros(1), [0, 1], [-1, 1], None)
    told = counts.summary(abandoned=0)
    assert told["more_hands"] is None
    assert told["goal"] is None
    assert told["mean"] == -1
