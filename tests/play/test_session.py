"""Sessions of a person: hands of several games, views, hints, reviews, saving and resuming."""

import json
import os
import secrets
import tomllib
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest
from random_games import deal_tables, game
from same_infoset_deals import sample_same_infoset_deals

from poker_rl.config import ConfigError
from poker_rl.evaluation.exact.exploitability import compute_action_losses
from poker_rl.evaluation.result import get_result_scale_and_unit
from poker_rl.games import get_tree
from poker_rl.play.bet_size_groups import group_moves
from poker_rl.play.live_hand import RequestNotAllowedError
from poker_rl.play.move_grades import grade_move
from poker_rl.play.range_explorer import explore_ranges
from poker_rl.play.session import Session, StaleRequestError
from poker_rl.play.session_statistics import summarize_sessions_by_table
from poker_rl.play.table_setup import NamedPlayer, TableSetup, shorten_names
from poker_rl.players import load_player

HANDS = 20
# Together these games have all kinds of rules, fixed and variable seats, and all kinds of bets.
GAMES = ["big2", "kuhn_3p", "limit_holdem_2to9", "nolimit_holdem_6p", "nolimit_holdem_sizes"]


def table(name, opponent="uniform", adviser=None):
    played = game(name)
    opponent_player = NamedPlayer(opponent, load_player(opponent, played))
    adviser_player = None if adviser is None else NamedPlayer(adviser, load_player(adviser, played))
    return TableSetup(played, [opponent_player] * (played.seats - 1), adviser_player)


def play(session, hands, seed=0):
    """Let the person play hands with random legal moves; return the final view of each hand.

    The moves of a hand depend only on its number, not on the hands before.
    """
    final_views = []
    view = session.build_view()
    while len(final_views) < hands:
        generator = np.random.default_rng([seed, view["hand"]])
        if view["phase"] == "over" and view["hand"] in [final["hand"] for final in final_views]:
            view = session.deal_next_hand(view["turn"])
            continue
        while view["phase"] == "act":
            move = view["moves"][int(generator.integers(len(view["moves"])))]
            view = session.act(view["turn"], move["action"])
        final_views.append(view)
    return final_views


def drop_session(view):
    """Return a view without the keys `session` and `stats`."""
    return {key: value for key, value in view.items() if key not in ("session", "stats")}


def move_events_to_past(view):
    """Return a view as after a resume: its new events are in `past`, and `events` is empty."""
    new = [{"seat": event["seat"], "label": event["label"]} for event in view["events"]]
    return drop_session(view) | {"past": view["past"] + new, "events": []}


@pytest.mark.parametrize("name", GAMES)
def test_resumed_session_equals_an_uninterrupted_one(name, tmp_path):
    """Resuming changes neither hands nor statistics. Also checks results and seats of each hand."""
    uninterrupted = Session.create(table(name), None, 7)
    expected = play(uninterrupted, HANDS)
    interrupted = Session.create(table(name), tmp_path, 7)
    first_half = play(interrupted, HANDS // 2)
    interrupted.close()
    (file,) = tmp_path.iterdir()
    resumed = Session.resume(file, table(name))
    assert move_events_to_past(resumed.build_view()) == move_events_to_past(first_half[-1])
    assert resumed.session_id == interrupted.session_id
    actual = first_half + play(resumed, HANDS - HANDS // 2 + 1)[1:]
    assert [drop_session(view) for view in actual] == [drop_session(view) for view in expected]
    assert resumed.build_view()["stats"] == uninterrupted.build_view()["stats"]

    stats = uninterrupted.build_view()["stats"]
    assert stats["hands"] == HANDS
    won = sum(view["result"]["won"][0] for view in expected)
    assert stats["won"] == won
    assert stats["curve"][-1] == pytest.approx(won * get_result_scale_and_unit(game(name))[0])
    seats = {view["players"][0]["seat"] for view in expected}
    assert seats >= set(range(game(name).definitions["seats"].min()))  # the person gets every seat
    for view in expected:
        assert sum(view["result"]["won"]) == 0
        assert json.loads(json.dumps(view))["result"]["won"] == view["result"]["won"]
        taken = [player["seat"] for player in view["players"] if player["seat"] is not None]
        assert sorted(taken) == list(range(len(view["table"]["seats"])))
    text = uninterrupted.format_hand(HANDS, "text")
    assert text.startswith(f"{name}, {game(name).hand_noun} {HANDS}\n")
    assert "you" in text


def change_hidden_cards(hand):
    """Return two records of the hand whose cards differ only where the person does not see them."""
    records = sample_same_infoset_deals(hand.setup.game, hand.record[0], hand.person_seat, 2)
    return [np.array([record]) for record in records]


@pytest.mark.parametrize("name", GAMES)
def test_view_does_not_depend_on_hidden_cards(name):
    session = Session.create(table(name), None, 1003)
    view, checked = session.build_view(), 0
    generator = np.random.default_rng(2)
    while view["hand"] < 6:
        if view["phase"] == "over":
            view = session.deal_next_hand(view["turn"])
            continue
        hand = session.current_hand
        for record in change_hidden_cards(hand):
            session.current_hand = replace(hand, record=record)
            assert session.build_view() == view
            checked += 1
        session.current_hand = hand
        text = json.dumps(view)
        for key in ("deck", "seed", "key", "draws", str(session._seed)):
            assert f'"{key}"' not in text.replace('"key": "', "")
        moves = view["moves"][-2:]
        view = session.act(view["turn"], moves[int(generator.integers(len(moves)))]["action"])
    assert checked > 5


def test_illegal_moves_and_stale_requests_change_nothing():
    session = Session.create(table("nolimit_holdem", "call", "uniform"), None, 1)
    view = session.build_view()
    for action in (True, 1.0, "1", None, -1, 3, 10**30, {"to": 3}, {"to": "9"}, {}, {"to": 201}):
        with pytest.raises(RequestNotAllowedError):
            session.act(view["turn"], action)
        assert session.build_view() == view
    with pytest.raises(RequestNotAllowedError, match="from 4 to 200"):
        session.act(view["turn"], {"to": 3})
    with pytest.raises(RequestNotAllowedError, match="not over"):
        session.deal_next_hand(view["turn"])
    with pytest.raises(RequestNotAllowedError, match="no finished hand 1"):
        session.review_hand(1)
    assert session.build_view() == view
    after = session.act(view["turn"], {"to": 11})
    assert after["events"][0]["label"] == "Raise to 11"
    assert after["turn"] > view["turn"]
    with pytest.raises(StaleRequestError):
        session.act(view["turn"], 1)
    with pytest.raises(StaleRequestError):
        session.get_hint(view["turn"])
    assert session.build_view() == after


def test_hints_have_values_and_grids():
    """Hints and grids do not depend on cards that the person does not see."""
    session = Session.create(table("limit_holdem", "call", "lhe_ppo"), None, 1)
    view = session.build_view()
    for _ in range(2):
        hint, hand = session.get_hint(view["turn"]), session.current_hand
        (grid,) = explore_ranges(hand, {}, None, "", ["lhe_ppo"])["grids"]
        for record in change_hidden_cards(hand):
            session.current_hand = replace(hand, record=record)
            assert session.get_hint(view["turn"]) == hint
        session.current_hand = hand
        assert abs(hint["value"]) < 48_000  # mbb; a pot has at most 48 big blinds
        assert len(grid["probs"]) == 13
        assert sum(grid["probs"][0][0]) == pytest.approx(1)
        view = session.act(view["turn"], 1)
    leduc = Session.create(table("leduc", "call", "raise"), None, 1)
    assert leduc.get_hint(leduc.turn_id)["value"] is None


def test_resume_drops_unfinished_hand_and_incomplete_line(tmp_path):
    session = Session.create(table("leduc"), tmp_path, 7)
    final_views = play(session, 3)
    unfinished = session.deal_next_hand(final_views[-1]["turn"])
    (file,) = tmp_path.iterdir()
    with file.open("a") as file_end:
        file_end.write('{"hand": 4, "var')
    session.close()
    resumed = Session.resume(file, table("leduc"))
    assert resumed.build_view()["stats"]["hands"] == 3
    assert resumed.build_view()["hand"] == 3
    with pytest.raises(StaleRequestError):
        resumed.act(unfinished["turn"], 1)
    view = resumed.deal_next_hand(resumed.build_view()["turn"])
    assert view["hand"] == 5
    resumed.close()
    assert Session.resume(file, table("leduc")).build_view()["stats"]["hands"] == 3


def test_result_that_cannot_be_saved_is_not_shown(tmp_path, monkeypatch):
    """If the disk is full at a hand's last move, the person can repeat the move later."""
    session = Session.create(table("kuhn", "call"), tmp_path, 7)
    (file,) = tmp_path.iterdir()
    before, view = file.read_bytes(), session.build_view()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space left") as error:
            session.act(view["turn"], 1)
    assert error.value.filename == str(file)
    assert session.build_view() == view
    assert view["phase"] == "act"
    assert file.read_bytes() == before
    assert session.act(view["turn"], 1)["phase"] == "over"
    session.close()
    assert Session.resume(file, table("kuhn", "call")).build_view()["stats"]["hands"] == 1


def test_open_session_cannot_be_opened_a_second_time(tmp_path):
    original = Session.create(table("kuhn"), tmp_path, 7)
    play(original, 2)
    (file,) = tmp_path.iterdir()
    with pytest.raises(ConfigError) as error:
        Session.resume(file, table("kuhn"))
    assert str(error.value) == f"{file} is in use: its session is open elsewhere"
    original.close()
    resumed = Session.resume(file, table("kuhn"))
    assert resumed.build_view()["stats"]["hands"] == 2
    del resumed  # releases the file without a call of `close`
    resumed_again = Session.resume(file, table("kuhn"))
    play(resumed_again, 2)
    assert resumed_again.build_view()["stats"]["hands"] == 3


def change_line(file, number, **changes):
    """Return a copy of a session's file with one line changed."""
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[number] |= changes
    copy = file.with_name(f"{secrets.token_hex(8)}.jsonl")
    copy.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return copy


def test_damaged_or_mismatched_session_files_are_refused(tmp_path):
    play(Session.create(table("kuhn"), tmp_path, 7), 2)
    (file,) = tmp_path.iterdir()
    hand = json.loads(file.read_text().splitlines()[2])
    for other_table in (table("kuhn", "call"), table("leduc")):
        with pytest.raises(ConfigError, match="of another table"):
            Session.resume(file, other_table)
    changes = [("deck", [2, 2]), ("actions", [9]), ("won", [-won for won in hand["won"]])]
    for key, value in [*changes, ("player_of_seat", [1, 1]), ("player_of_seat", [0, 1, 2])]:
        with pytest.raises(ConfigError, match="hand 1 is no hand of kuhn"):
            Session.resume(change_line(file, 2, **{key: value}), table("kuhn"))
    nested = change_line(file, 2)
    nested.write_text(nested.read_text() + "[" * 100_000 + "\n")
    changes = [(0, "seed", "7"), (0, "seed", -1), (2, "hand", "1"), (2, "actions", [[1]])]
    changes += [(2, "ev_adjusted", value) for value in (float("inf"), 1e308, {})]
    for damaged in (nested, *(change_line(file, n, **{key: value}) for n, key, value in changes)):
        with pytest.raises(ConfigError, match="is not a file of a session"):
            Session.resume(damaged, table("kuhn"))


# Loss of each action in Kuhn poker against an equilibrium, in antes; equal for all equilibria. Keys
# are information sets (seat, card, previous actions), then actions.
KUHN_LOSSES = {"0 J": {"call": 0, "raise": 0}, "0 K": {"call": 0, "raise": 0}}
KUHN_LOSSES["0 Q"] = {"call": 0, "raise": 1 / 6}  # a bet is worth -1/2, a check -1/3
for seat_and_bet in ("0 {} cr", "1 {} r"):
    losses = {"J": {"fold": 0, "call": 1}, "Q": {"fold": 0, "call": 0}, "K": {"fold": 3, "call": 0}}
    KUHN_LOSSES |= {seat_and_bet.format(card): loss for card, loss in losses.items()}


def test_action_losses_in_kuhn_poker_match_theory(tmp_path):
    """A king that checks second misses a queen's call, whose probability depends on alpha."""
    alpha, definition = 0.2, game("kuhn")
    bot = tmp_path / "bot.yaml"
    bot_class = "poker_rl.players.bots.kuhn_equilibrium_bot.KuhnEquilibriumBot"
    bot.write_text(f"_target_: {bot_class}\nalpha: {alpha}\n")
    tree = get_tree(definition)
    policy = load_player(str(bot), definition).action_probs(tree.infoset_records)
    losses = compute_action_losses(tree, policy)
    queen_call_prob = (1 / 3 + alpha) / (2 - alpha)  # P(seat 0 has Q and calls | it checked)
    after_check = {"1 K c": {"call": queen_call_prob, "raise": 0}}
    for name, losses_by_action in {**KUHN_LOSSES, **after_check}.items():
        row = losses[tree.infoset_names.index(name)]
        for action, expected in losses_by_action.items():
            number = ["fold", "call", "raise"].index(action)
            assert row[number] == pytest.approx(expected, abs=1e-9), (name, action)
    assert np.isnan(losses[~tree.legal_mask]).all()


def test_review_of_kuhn_poker_grades_by_known_costs():
    session = Session.create(table("kuhn", "uniform", "call"), None, 7)
    graded = set()
    for view in play(session, 60):
        review = session.review_hand(view["hand"])
        assert review["won"] == view["result"]["won"]
        history = ""
        for step in review["steps"]:
            action = next(move["name"] for move in step["probs"] if move["label"] == step["label"])
            card = step["table"]["seats"][step["seat"]]["cards"][0]
            infoset = f"{step['seat']} {card} {history}".strip()
            assert (step["grade"] is not None) == (step["player_index"] == 0)
            if step["grade"] is not None:
                assert sum(move["prob"] for move in step["equilibrium"]) == pytest.approx(1)
                if infoset in KUHN_LOSSES:
                    cost = KUHN_LOSSES[infoset][action]
                    assert step["grade"]["grader"] == "an equilibrium"
                    assert step["grade"]["cost"] == pytest.approx(cost, abs=1e-6)
                    grades = ["fine", "inaccuracy", "mistake"]
                    assert step["grade"]["word"] == grades[(cost > 0.05) + (cost > 0.25)]
                    graded.add((infoset, action))
            history += action[0]
    assert {("0 Q", "raise"), ("1 K r", "fold"), ("0 J cr", "call")} <= graded


def test_adviser_grades_moves_without_a_known_cost():
    """Bets are graded by the adviser's total probability of a bet; no adviser, no grade."""
    holdem, kuhn_3p = game("nolimit_holdem"), game("kuhn_3p")
    records = deal_tables(holdem).records
    for name, expected in (("raise", "mistake mistake fine"), ("call", "mistake fine mistake")):
        adviser = NamedPlayer(name, load_player(name, holdem))
        grades = [grade_move(holdem, records, action, adviser) for action in (0, 1, 7)]
        assert [grade and grade.word for grade in grades] == expected.split()
        assert {(grade.cost, grade.grader) for grade in grades if grade} == {(None, name)}
    assert grade_move(kuhn_3p, deal_tables(kuhn_3p).records, 1, None) is None
    sizes = game("nolimit_holdem_sizes")
    adviser = NamedPlayer("uniform", load_player("uniform", sizes))
    records = deal_tables(sizes).records  # five legal actions, three of which are raises
    assert grade_move(sizes, records, 3, adviser).prob == pytest.approx(3 / 5)


def test_bets_of_any_amount_are_grouped_by_size():
    """Each legal bet is in one group; a group has its bets' total probability and mean value."""
    holdem = game("nolimit_holdem")
    tables = deal_tables(holdem)
    legal = np.flatnonzero(tables.legal_mask()[0])
    probs, values = np.zeros(holdem.action_count), np.full(holdem.action_count, np.nan)
    probs[legal] = 1 / len(legal)
    values[[4, 6, 8]] = 2.0, 3.0, 7.0
    groups = group_moves(holdem, tables.records, probs, values, taken_action=7)
    assert [(group.label, group.amounts) for group in groups if group.is_subgroup] == [
        ("minimum", "2 bb, 4 chips"),
        ("about half pot", "2.5 bb, 5 chips"),
        ("about the pot", "3 to 4 bb, 6 to 8 chips"),
        ("larger", "4.5 to 99.5 bb, 9 to 199 chips"),
        ("all-in", "100 bb, 200 chips"),
    ]
    (total,) = [group for group in groups if group.label == "Raise"]
    parts = [group for group in groups if group.is_subgroup]
    bets = [a for part in parts for a in range(part.first_action, part.last_action + 1)]
    assert bets == legal[legal >= 4].tolist()
    assert total.prob == pytest.approx(sum(part.prob for part in parts)) == pytest.approx(197 / 199)
    assert [part.label for part in parts if part.is_taken] == ["about the pot"]
    pot_value = pytest.approx(2.5)
    assert [part.value for part in parts] == [1.0, None, pot_value, None, None]  # in big blinds


def test_short_player_names_stay_unique():
    """A run has the name of its folder, or more of its path if that name is not unique."""
    run = "outputs/kuhn/ppo/mine@300:current"
    names = {run: "mine", "leduc_ac:greedy": "leduc_ac:greedy", "bots/wild.yaml": "wild"}
    assert shorten_names(list(names)) == names
    average, moved = run.replace("current", "average"), run.replace("outputs", "elsewhere")
    assert shorten_names([run, average]) == {run: "mine@300:current", average: "mine@300:average"}
    assert shorten_names([run, moved]) == {run: run, moved: moved}


def test_results_and_hands_are_collected_over_sessions(tmp_path):
    won = []
    for seed in (1, 2):
        session = Session.create(table("nolimit_holdem_6p", "call"), tmp_path / "any", seed)
        won += [view["result"]["won"][0] for view in play(session, 20)]
    hands = tomllib.loads(session.format_all_hands("phh"))
    assert list(hands) == [str(number) for number in range(1, 21)]
    assert hands["3"]["variant"] == "NT"
    assert session.format_all_hands("text").count("nolimit_holdem_6p, hand ") == 20
    (tmp_path / "any" / "damaged.jsonl").write_text('{"table": 3}\n')
    file, saved = tmp_path / "any" / f"{session.session_id}.jsonl", session.setup.to_dict()
    for unit_chips in (4, 0):  # 4: other rules, which get another row; 0: an invalid file
        changed = saved["game"] | {"unit_chips": unit_chips}
        change_line(file, 0, table=saved | {"game": changed})
    row, variant = summarize_sessions_by_table(tmp_path)
    assert (variant["sessions"], variant["mean"]) == (1, pytest.approx(np.mean(won[20:]) / 4 * 100))
    assert (row["game"], row["against"]) == ("nolimit_holdem_6p", "5 x call")
    assert (row["sessions"], row["hands"], row["unit"]) == (2, 40, "bb/100")
    assert row["mean"] == pytest.approx(np.mean(won) / 2 * 100)
    assert row["ev_adjusted"]["half_width"] < row["half_width"]


def test_range_explorer_follows_any_actions_and_board():
    """A grid excludes cards of the board and does not depend on hidden cards."""
    session = Session.create(table("limit_holdem", "call"), None, 1)
    hand = session.current_hand
    players = {name: load_player(name, hand.setup.game) for name in ("sklansky", "mcts")}
    expected = explore_ranges(hand, players, None, "", [])
    for record in change_hidden_cards(hand):
        assert explore_ranges(replace(hand, record=record), players, None, "", []) == expected
    flop = explore_ranges(hand, players, [2, 1], "AsAdAh9c", ["sklansky", "call"])
    assert [step["label"] for step in flop["path"]] == ["Raise to 4", "Call 2"]
    assert (flop["board"], flop["pot"], flop["street"]) == ("AsAdAh", 8, "flop")
    sklansky, call = flop["grids"]
    assert call["mean"] == [0, 1, 0]
    assert explore_ranges(hand, players, [], "", ["mcts"])["grids"][0]["mean"][2] > 0.1
    assert call["probs"][0][0] is None  # only one ace is left
    assert sum(sklansky["mean"]) == pytest.approx(1)
    assert explore_ranges(hand, players, [0], "", [])["moves"] == []  # the hand is over
    wrong = [([0, 1], "", []), ([9], "", []), ([2, 1], "AsAs", []), ([], "", ["nit"])]
    for actions, board, names in [*wrong, ([1, 1], "Zz", [])]:
        with pytest.raises(RequestNotAllowedError):
            explore_ranges(hand, players, actions, board, names)
    with pytest.raises(RequestNotAllowedError, match="Only hold'em"):
        explore_ranges(Session.create(table("kuhn"), None, 1).current_hand, players, [], "", [])


def test_statistics_of_a_person_who_always_raises():
    session = Session.create(table("limit_holdem", "call"), None, 7)
    for _ in range(40):
        view = session.build_view()
        while view["phase"] == "act":
            view = session.act(view["turn"], view["moves"][-1]["action"])
        session.deal_next_hand(view["turn"])
    stats = view["stats"]
    rows = {name: text for name, text, _ in stats["rows"]}
    assert (rows["VPIP"], rows["PFR"], "Aggression" in rows) == ("100%", "100%", False)  # no calls
    assert 0 < stats["ev_adjusted"]["half_width"] < stats["half_width"]
