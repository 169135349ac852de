"""Tests of Goofspiel against a tree search in plain Python, and of the plug-in in poker-rl."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from goofspiel.bot import MatchingBot
from goofspiel.game import Goofspiel

from poker_rl.algos import create_algorithm
from poker_rl.cli import run_command
from poker_rl.config import ConfigError
from poker_rl.evaluation import compute_best_response_values, compute_seat_values, exploitability
from poker_rl.games import Tables, get_tree, load_game
from poker_rl.play.session import Session
from poker_rl.play.table_setup import NamedPlayer, TableSetup
from poker_rl.players import load_player

# Possible world for a seat: probability, order of the prizes, and the opponent's bids so far
World = tuple[Fraction, tuple[int, ...], tuple[int, ...]]


def compute_best_response_to_uniform(cards: int) -> Fraction:
    """Return the value of a best response to random bids, by a search over possible worlds."""

    def best(worlds: list[World], own: tuple[int, ...]) -> Fraction:
        """Return the points still to be won after the bids `own`, times the worlds' probability."""
        turned = len(own)
        if turned == cards:
            return Fraction(0)
        won = Fraction(0)
        for prize in range(cards):
            seen = [world for world in worlds if world[1][turned] == prize]
            options = []
            for bid in set(range(cards)) - set(own) if seen else ():
                points, after = Fraction(0), {-1: [], 0: [], 1: []}
                for chance, prizes, bids in seen:
                    left = set(range(cards)) - set(bids)
                    for other in left:
                        result = (bid > other) - (bid < other)
                        points += chance / len(left) * result * (prize + 1)
                        after[result].append((chance / len(left), prizes, (*bids, other)))
                options.append(points + sum(best(each, (*own, bid)) for each in after.values()))
            won += max(options, default=Fraction(0))
        return won

    orders = list(permutations(range(cards)))
    return best([(Fraction(1, len(orders)), order, ()) for order in orders], ())


@pytest.mark.parametrize("cards", [3, 4])
def test_uniform_bids_lose_as_much_as_enumeration_finds(cards: int) -> None:
    """Exploitability is 4/3 of a point with three cards, 5/2 with four, equal for both seats."""
    tree = get_tree(load_game("goofspiel", f"game.cards={cards}"))
    expected = float(compute_best_response_to_uniform(cards))
    best = compute_best_response_values(tree, tree.build_uniform_policy())
    assert best.tolist() == pytest.approx([expected, expected], abs=1e-12)
    assert exploitability(tree, tree.build_uniform_policy()) == pytest.approx(expected, abs=1e-12)
    assert compute_seat_values(tree, tree.build_uniform_policy()) == pytest.approx(
        [0, 0], abs=1e-12
    )


@pytest.mark.parametrize("name", ["fictitious_play", "cfr_plus"])
def test_learners_reach_an_equilibrium_of_value_0(name: str) -> None:
    """The game's value is 0; that of a policy with exploitability e is between -2 e and 2 e."""
    game = load_game("goofspiel")
    learner = create_algorithm(name, game)
    for _ in range(50):  # ten iterations each; the measured exploitability is 0.004 and 0.0001
        learner.learn()
    policy = learner.players()["average"].action_probs(get_tree(game).infoset_records)
    distance = exploitability(get_tree(game), policy)
    assert distance < 0.01
    assert abs(compute_seat_values(get_tree(game), policy)[0]) <= 2 * distance


def test_a_restored_learner_continues_equally() -> None:
    game = load_game("goofspiel")
    one, other = (create_algorithm("fictitious_play", game) for _ in range(2))
    one.learn()
    other.load_state_dict(one.state_dict())
    one.learn()
    other.learn()
    assert np.array_equal(one.state_dict()["sums"], other.state_dict()["sums"])
    assert one.progress == other.progress


def test_one_game_bid_by_bid() -> None:
    game = load_game("goofspiel")
    tables = Tables(game, 1, 0)
    tables.deal(decks=np.array([[2, 0, 1]]))  # the prizes 3, 1, 2
    names = []
    for bid in (1, 2, 2, 0, 0, 1):  # 2 loses to 3; 3 beats 1; 1 loses to 2
        names.append(game.infoset_name(tables.records[0]))
        tables.step(np.array([bid]))
    assert names == ["0 3", "1 3", "0 31 2-", "1 31 3+", "0 312 2-3+", "1 312 3+1-"]
    assert tables.records["over"].tolist() == [1]
    assert tables.payoffs().tolist() == [[-4, 4]]


def test_a_card_is_bid_once() -> None:
    tables = Tables(load_game("goofspiel"), 1, 0)
    tables.deal()
    tables.step(np.array([1]))
    assert tables.legal_mask().tolist() == [[True, True, True]]  # seat 1 still has all cards
    tables.step(np.array([0]))
    assert tables.legal_mask().tolist() == [[True, False, True]]
    with pytest.raises(ValueError, match="illegal action 1 at table 0: 0 "):
        tables.step(np.array([1]))


def test_a_seat_sees_what_it_knows_and_no_more() -> None:
    """Observations differ exactly if information sets do; with hidden cards all tables differ."""
    game = load_game("goofspiel")
    tree = get_tree(game)
    tables = Tables(game, 0, 0)
    tables.load_records(tree.infoset_records)
    assert len(np.unique(tables.observe(), axis=0)) == tree.infoset_count
    tables = Tables(game, 6, 0)
    tables.deal(decks=game.list_deals())
    first = np.unique(tables.observe(), axis=0)
    tables.step(np.array([0, 1, 2, 0, 1, 2]))
    second = np.unique(tables.observe(), axis=0)
    assert len(first) == len(second) == 3  # the prize is all they see: no bid, no prize to come
    assert len(np.unique(tables.observe_hidden_cards(), axis=0)) == 6


def test_the_bot_bids_the_prize() -> None:
    game = load_game("goofspiel")
    bot = load_player("matching", game)
    assert isinstance(bot, MatchingBot)
    records = get_tree(game).infoset_records
    fresh = records["round"] == 0
    prize = records["deck"][fresh, 0]
    assert bot.action_probs(records[fresh]).argmax(1).tolist() == prize.tolist()
    assert bot.action_probs(records).sum(1) == pytest.approx(1)
    with pytest.raises(ConfigError, match="a bot of Goofspiel, not of kuhn"):
        load_player("matching", load_game("kuhn"))


def test_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def poker_rl(*arguments: str) -> str:
        """Run a command, and return what it prints."""
        assert run_command(list(arguments)) == 0
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    assert "(Brown 1951); headline player: average  [goofspiel]\n" in poker_rl("list", "algo")
    poker_rl("train", "game=goofspiel", "algo=fictitious_play", "budget=100", "name=run")
    folder = "outputs/goofspiel/fictitious_play/run"
    output = poker_rl("evaluate", f"run={folder}", "against=[matching]", "deals=100")
    assert "exploitability" in output
    poker_rl("train", f"resume={folder}", "budget=200", "figures=false")
    # Train a shipped learner on Goofspiel against the bot, and this learner on a shipped game.
    ppo = ["algo=ppo", "opponents=[matching]", "budget=1000", "figures=false"]
    poker_rl("train", "game=goofspiel", *ppo)
    poker_rl("train", "game=kuhn", "algo=fictitious_play", "budget=100", "figures=false")


def test_game_without_display_is_trained_and_measured() -> None:
    game = Goofspiel(name="rules_alone", unit="point", unit_chips=1, cards=3)
    learner = create_algorithm("ppo", game)
    learner.learn()
    policy = learner.players()["current"].action_probs(get_tree(game).infoset_records)
    assert exploitability(get_tree(game), policy) > 0


def test_a_view_hides_the_bid_and_the_prizes_to_come() -> None:
    game = load_game("goofspiel")
    tables = Tables(game, 4, 0)
    tables.deal(decks=np.array([[0, 1, 2], [0, 2, 1]] * 2, np.int8))
    tables.step(np.array([0, 0, 2, 2]))
    seen = [game.build_view(record, 1) for record in tables.records]
    assert seen == [seen[0]] * 4
    assert seen[0].board == ("1",)
    assert [seat.hidden_card_count for seat in seen[0].seats] == [2, 0]
    assert seen[0].seats[1].cards == ("1", "2", "3")
    assert [move.label for move in game.list_moves(tables.records[0])] == [
        "Bid 1",
        "Bid 2",
        "Bid 3",
    ]
    tables.step(np.array([1, 1, 1, 1]))
    notes = [[seat.notes for seat in game.build_view(record, 0).seats] for record in tables.records]
    assert notes[0] == notes[1] == [("0 points",), ("1 points",)]
    assert notes[2] == notes[3] == [("1 points",), ("0 points",)]
    first, second = (game.build_view(record, 0) for record in tables.records[:2])
    assert (first.board, second.board) == (("1", "2"), ("1", "3"))


def test_a_person_can_play_it() -> None:
    game = load_game("goofspiel")
    matching = NamedPlayer("matching", load_player("matching", game))
    session = Session.create(TableSetup(game, [matching], matching))
    view, won = session.build_view(), 0
    for _ in range(5):
        while view["phase"] == "act":
            assert view["table"]["seats"][1 - view["players"][0]["seat"]]["cards"] == ()
            view = session.act(view["turn"], view["moves"][-1]["action"])
        won += view["result"]["won"][0]
        assert sum(view["result"]["won"]) == 0
        steps = session.review_hand(view["hand"])["steps"]
        grades = [step["grade"] for step in steps if step["grade"]]  # of own bids only
        assert grades
        for grade in grades:  # the game is small enough for exact costs
            assert (grade["word"] == "mistake") == (grade["cost"] >= 0.25)
        view = session.deal_next_hand(view["turn"])
    assert view["stats"]["won"] == won
