"""Players trained in no-limit games with listed bet sizes, in the game that allows any amount."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from random_games import deal_tables, game

from poker_rl.algos import create_algorithm
from poker_rl.config import ConfigError
from poker_rl.games import get_tree
from poker_rl.games.poker.table_dtypes import CALL, FOLD, RAISE
from poker_rl.games.tables import tables_from_records
from poker_rl.players import TabularPlayer, compute_checked_probs, load_player
from poker_rl.players.bet_abstraction_player import BetAbstractionPlayer
from poker_rl.storage.checkpoint import save_snapshot

HOLDEM = game("nolimit_holdem")
THREE, FIVE = [0.5, 1.0, "all_in"], [0.25, 0.5, 1.0, 2.0, "all_in"]


def add_sizes(full, sizes):
    return replace(full, name=f"{full.name}_sizes", bet_sizes=sizes)


def build_network(sized, features="table", seed=0):
    """Return an untrained network player with action values, whose policy is far from uniform."""
    overrides = [f"net.features={features}", "net.hidden_sizes=[16]"]
    critic = "algo.critic_view=own"
    learner = create_algorithm("actor_critic", sized, *overrides, critic, seed=seed)
    player = learner.players()["current"]
    with torch.no_grad():
        for weight in player.module.parameters():
            weight *= 4
    return player


def build_player(full, sizes, features="table", seed=0):
    sized = add_sizes(full, sizes)
    return BetAbstractionPlayer(full, sized, build_network(sized, features, seed))


def play_line(full, *actions):
    return deal_tables(full, actions=actions)


def list_played_actions(player, tables):
    (probs,) = player.action_probs(tables.records.copy())
    return [int(action) for action in np.flatnonzero(probs)]


@pytest.mark.parametrize(
    ("full", "sizes", "features"),
    [
        (HOLDEM, THREE, "table"),
        (replace(HOLDEM, stacks=[9, 23]), FIVE, "observation"),
        (game("nolimit_holdem_6p"), FIVE, "history"),
        (replace(game("nolimit_holdem_6p"), stacks=[3, 200, 7, 40, 12, 90]), THREE, "observation"),
        (game("nolimit_holdem_2to9"), THREE, "history"),
    ],
    ids=["2_seats", "2_seats_short", "6_seats", "6_seats_short", "2_to_9_seats"],
)
def test_player_plays_listed_sizes_as_in_the_game_with_sizes(full, sizes, features):
    """Hands with listed sizes have equal chips, probabilities and values in both games."""
    sized = add_sizes(full, sizes)
    trained = build_network(sized, features)
    player = BetAbstractionPlayer(full, sized, trained)
    in_full, in_sized = deal_tables(full, 200, 1), deal_tables(sized, 200, 1)
    generator, raise_count = np.random.default_rng(0), 0
    while len(rows := np.flatnonzero(in_sized.records["over"] == 0)):
        before = in_full.records[rows]
        legal = in_sized.legal_mask(rows)
        probs = compute_checked_probs(full, player, before)
        probs_by_size = trained.action_probs(in_sized.records[rows])
        values = player.action_values(before)
        values_by_size = trained.action_values(in_sized.records[rows])
        assert np.array_equal((probs > 0).sum(1), (probs_by_size > 0).sum(1))
        assert np.array_equal((~np.isnan(values)).sum(1), legal.sum(1))
        for action in range(legal.shape[1]):
            can_act = np.flatnonzero(legal[:, action])
            trial = tables_from_records(sized, in_sized.records[rows[can_act]])
            trial.step(np.full(len(can_act), action))
            chips = trial.records["paid"][np.arange(len(can_act)), before["to_act"][can_act]]
            action_in_full = np.where(action < RAISE, action, chips)
            assert np.array_equal(probs[can_act, action_in_full], probs_by_size[can_act, action])
            assert np.array_equal(values[can_act, action_in_full], values_by_size[can_act, action])
        state_values = player.state_values(before)
        assert state_values == pytest.approx(trained.state_values(in_sized.records[rows]))
        actions = (legal * generator.random(legal.shape)).argmax(1)
        in_sized.step(actions, rows)
        chips = in_sized.records["paid"][rows, before["to_act"]]
        in_full.step(np.where(actions < RAISE, actions, chips), rows)
        raise_count += int((actions >= RAISE).sum())
    assert raise_count > 100
    for name in set(full.table_dtype.names or ()) - {"line"}:
        assert np.array_equal(in_full.records[name], in_sized.records[name]), name


def test_player_sees_unlisted_amounts_and_answers_with_listed_sizes():
    player = build_player(HOLDEM, THREE)
    seven = play_line(HOLDEM, 7)  # pot after a call: 14
    assert list_played_actions(player, seven) == [FOLD, CALL, 14, 21, 200]
    assert list_played_actions(player, play_line(HOLDEM, 8)) == [FOLD, CALL, 16, 24, 200]
    tables = [play_line(HOLDEM, chips) for chips in (7, 8)]
    assert len({player.action_probs(table.records)[0, CALL] for table in tables}) == 2
    values = player.action_values(seven.records)
    assert np.flatnonzero(~np.isnan(values[0])).tolist() == [FOLD, CALL, 14, 21, 200]


def test_sizes_out_of_range_become_the_smallest_raise_or_all_in():
    player = build_player(HOLDEM, FIVE)
    # The raise from 2 to 60 makes 118 the smallest raise; a quarter pot would be less.
    assert list_played_actions(player, play_line(HOLDEM, 60)) == [FOLD, CALL, 118, 120, 180, 200]
    assert list_played_actions(player, play_line(HOLDEM, 150)) == [FOLD, CALL, 200]
    assert list_played_actions(player, play_line(HOLDEM, 200)) == [FOLD, CALL]
    (probs,) = player.action_probs(play_line(HOLDEM, 150).records)
    assert probs.sum() == pytest.approx(1)
    short = replace(HOLDEM, stacks=[200, 6])
    assert list_played_actions(build_player(short, FIVE), play_line(short)) == [FOLD, CALL, 4, 6]


def test_player_does_not_raise_if_betting_is_not_reopened():
    """After a bet of 10 and an all-in of 2 more, the seat that bet can only call or fold."""
    six = game("nolimit_holdem_6p")
    short = replace(six, seats=3, blinds=[1, 2, 0], openers=[2, 0, 0, 0], stacks=[100, 14, 100])
    player = build_player(short, THREE)
    line = CALL, CALL, CALL, 12, 14
    assert list_played_actions(player, play_line(short, *line)) == [FOLD, CALL, 34, 54, 100]
    assert list_played_actions(player, play_line(short, *line, CALL)) == [FOLD, CALL]


def save_run(folder, of_game, player):
    folder.mkdir()
    players = {"current": player.to_dict()}
    save_snapshot(folder, 10, {"game": of_game.to_dict(), "players": players})
    return str(folder)


def test_saved_player_of_the_game_with_sizes_loads_for_the_full_game(tmp_path):
    trained = build_network(sized := add_sizes(HOLDEM, THREE))
    run, (record,) = save_run(tmp_path / "run", sized, trained), play_line(HOLDEM, 7).records[None]
    loaded = load_player(run, HOLDEM)
    probs = loaded.action_probs(record)
    assert np.array_equal(probs, BetAbstractionPlayer(HOLDEM, sized, trained).action_probs(record))
    restored = BetAbstractionPlayer.from_dict(loaded.to_dict(), HOLDEM, "cpu")
    assert np.array_equal(restored.action_probs(record), probs)
    greedy = load_player(f"{run}:current:greedy", HOLDEM).action_probs(record)
    assert greedy.max() == 1
    assert probs[0, greedy.argmax()] > 0
    other_sizes = replace(sized, name="five", bet_sizes=FIVE)
    for other_game in (other_sizes, replace(HOLDEM, name="deep", stacks=300)):
        message = f"of nolimit_holdem_sizes, not of this {other_game.name}"
        with pytest.raises(ConfigError, match=message):
            load_player(run, other_game)
    of_full_game = save_run(tmp_path / "full", HOLDEM, build_player(HOLDEM, THREE))
    with pytest.raises(ConfigError, match="of nolimit_holdem, not of this nolimit_holdem_sizes"):
        load_player(of_full_game, sized)


def test_players_that_see_past_bets_as_sizes_are_refused(tmp_path):
    full = replace(game("nolimit_leduc"), stacks=4)
    sized = add_sizes(full, THREE)
    table = TabularPlayer(sized, get_tree(sized).build_uniform_policy())
    by_node = build_network(sized)
    by_node.network_sharing = "per_betting_node"
    for name, player in {"table": table, "infoset": build_network(sized, "infoset")}.items():
        with pytest.raises(ConfigError, match="can play nolimit_leduc only if it is a network"):
            load_player(save_run(tmp_path / name, sized, player), full)
    with pytest.raises(ConfigError, match="without network_sharing=per_betting_node"):
        BetAbstractionPlayer(full, sized, by_node)
