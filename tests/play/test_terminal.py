"""Hands played in a terminal by keys, in lines without one; and the terminal afterwards."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import code
from default_signals import default_signals
from rich.console import Console, RenderableType
from servers import against
from terminals import Person, terminal

from poker_rl.config.build import build
from poker_rl.config.options import option
from poker_rl.games.poker.table import CALL
from poker_rl.play import screen
from poker_rl.play.keys import keys_of, keys_of_line
from poker_rl.play.screen import card
from poker_rl.play.session import Session
from poker_rl.play.sitting import LABELS, Sitting
from poker_rl.play.table import Seated, Table
from poker_rl.play.terminal import fitted, sit_down, written
from poker_rl.players.load import load_player

TABLES = {  # quick opponents; what they do does not matter here
    "kuhn": ["uniform"],
    "leduc": ["call"],
    "limit_holdem": ["call"],
    "limit_holdem_9p": ["call", "fold", "call", "uniform", "call", "fold", "call", "call"],
    "nolimit_holdem": ["call"],
    "nolimit_leduc_sizes": ["call"],
    "big2": ["lowest", "uniform", "lowest"],
}


def at_terminal(
    monkeypatch: pytest.MonkeyPatch,
    session: Session,
    folder: Path,
    columns: int,
    person: Callable[[Person], None],
) -> str:
    """Somebody plays a session in a terminal of so many columns; all that was written to it."""
    with terminal(columns) as (master, slave), ThreadPoolExecutor(1) as other:
        before = termios.tcgetattr(slave)
        sat = Person(master)

        def sits() -> None:
            try:
                person(sat)
            except BaseException:
                sat.type("\x04")  # nobody is there any more
                raise

        with open(slave, closefd=False) as keys, open(slave, "w", closefd=False) as out:
            monkeypatch.setattr(sys, "stdin", keys)
            monkeypatch.setattr(sys, "stdout", out)
            monkeypatch.setenv("TERM", "xterm-256color")
            monkeypatch.delenv("COLORTERM", raising=False)
            sitting = other.submit(sits)
            sit_down(session, f"session={folder / session.name}.jsonl")
            monkeypatch.undo()
        sitting.result()
        assert termios.tcgetattr(slave) == before
        return sat.read_to_end(slave)


def finished(person: Person, screen: str) -> str:
    """Play a hand to its end by keys: the adviser's cards, or what costs least but a fold."""
    for _ in range(100):
        if "[Space]" in screen:
            return screen
        if "[Enter]" in screen:
            person.press("h")
            screen = person.press("\r")
        else:
            screen = person.press("p" if "[P]" in screen else "c")
    raise AssertionError("the hand does not end")


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize("game", TABLES)
def test_a_whole_hand(
    game: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.new(against(game, *TABLES[game]), tmp_path, 3)
    seen: list[str] = []

    def plays(person: Person) -> None:
        seen.append(person.see())
        screen = finished(person, seen[0])
        seen.append(screen)
        assert re.search("You (win|lose|come out)", screen)
        assert "hand 2" not in screen
        seen.append(person.press("v"))
        assert "Decision 1 of" in seen[-1]
        seen.append(person.press("\x1b[C"))
        assert re.search("Decision (1 of 1|2 of)", seen[-1])
        seen.append(person.press("s"))
        assert re.search(r"(Hands|Games) +1\n", seen[-1])
        assert person.press("\x1b") != seen[-1]
        seen.append(person.press("?"))
        assert "leave; finished hands are kept" in seen[-1]
        person.press("?")
        assert re.search("(hand|game) 2", person.press(" "))
        assert "Q once more" in person.press("q")
        person.type("q")

    written = at_terminal(monkeypatch, session, tmp_path, columns, plays)
    for one in seen:
        lines = one.split("\n")
        assert re.search(r"· (hand|game) \d", lines[0])
        assert max(map(len, lines)) <= columns
    assert "\x1b[1;38;5;" in written  # cards have colours
    (file,) = tmp_path.iterdir()
    assert written.endswith(f"Go on with: poker-rl play ui=terminal session={file}\r\n")
    hands = [line for line in map(json.loads, file.read_text().splitlines()) if "hand" in line]
    assert len(hands) == 1


def test_a_low_terminal_shows_fewer_chances_and_all_the_rest() -> None:
    session = Session.new(against("nolimit_holdem_2to9", "uniform", *["call"] * 7), None, 5)
    sitting = Sitting(session)
    whole, low = 0, set()
    for _ in range(60):
        sitting.press("h")
        lines = written(sitting, 60, terminal=False)
        fits = [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in fitted(sitting, 60, 24)]
        assert len(fits) <= 24
        assert (fits[0], fits[-1]) == (lines[0], lines[-1])
        assert {line for line in lines if line} - set(fits) <= {*filter(has_a_bar, lines)}
        whole = max(whole, sum(map(bool, lines)))
        low.add(sum(map(has_a_bar, fits)))
        sitting.press("space" if "[Space]" in lines[-1] else "c")
    assert whole > 24
    assert len(low & {*range(1, screen.BARS)}) > 1


def has_a_bar(line: str) -> bool:
    return re.search(r" \d+(\.\d)? %( |$)", line) is not None


def test_amounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.new(against("nolimit_holdem", "call"), tmp_path, 3)
    low, high = (session.view()["amounts"][key] for key in ("low", "high"))

    def plays(person: Person) -> None:
        person.see()
        assert f"to {low + 2} " in person.press("\x1b[C")
        assert f"to {low + 1} " in person.press("\x1b[1;2D")
        assert f"to {high} " in person.press("5")
        assert "to … " in person.press("\x1b")
        assert f"to {low}_" in person.press("r")
        for key in "999":
            screen = person.press(key)
        assert "to 999_" in screen
        assert f"a whole number of chips from {low} to {high}" in person.press("\r")
        for key in "\x7f\x7f\x7f1":
            screen = person.press(key)
        assert "to 1_" in screen
        assert "you: Raise to 12" in person.press("2") + person.press("\r")
        person.type("qq")

    at_terminal(monkeypatch, session, tmp_path, 80, plays)


def test_cards_are_chosen_by_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cards that are no pair are refused; H and the arrows walk through the legal plays."""
    session = Session.new(against("big2", "lowest", "lowest", "lowest"), tmp_path, 3)
    view = session.view()
    plays_ = [move["label"] for move in view["moves"] if move["cards"]]
    own = view["scene"]["places"][view["ring"][0]["seat"]]["cards"]

    def label(screen: str) -> str:
        found = re.search(r"\[Enter\] (.*)", screen)
        assert found is not None
        letters = found[1].translate(str.maketrans("♠♥♦♣", "shdc")).replace("10", "T")
        return letters.strip()

    def plays(person: Person) -> None:
        assert label(person.see()) == "Choose cards"
        walked = [label(person.press("h"))]
        walked += [label(person.press(key)) for key in ["h", "\x1b[C"] * len(plays_)]
        assert set(walked) == set(plays_)
        assert label(person.press("\x1b[D")) == walked[-2]
        assert label(person.press("\x1b")) == "Choose cards"
        person.press("1")
        assert label(person.press("0")) == "No legal play"
        assert "no legal play; H shows" in person.press("\r")
        person.press("0")
        person.press("1")
        single = person.press("b")
        assert label(single) == f"Single {own[11]}"
        assert f"you: {label(single)}" in person.press("\r").translate(
            str.maketrans("♠♥♦♣", "shdc")
        ).replace("10", "T")
        person.type("qq")

    at_terminal(monkeypatch, session, tmp_path, 80, plays)


def test_keys_typed_before_the_table_is_seen_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.new(against("limit_holdem", "call"), tmp_path, 3)

    def plays(person: Person) -> None:
        person.see()
        assert "flop" in person.press("ccc")
        person.type("qq")

    at_terminal(monkeypatch, session, tmp_path, 80, plays)


@pytest.mark.parametrize("width", [60, 80])
def test_a_fan_of_cards_stands_on_its_keys(width: int) -> None:
    codes = [f"{rank}s" for rank in "23456789TJQKA"]
    drawn = text(screen.fan(codes, LABELS[:13], codes[:3], width), width)
    lines = [line.rstrip() for line in drawn.splitlines()]
    assert len(lines) == 3
    places = [[m.start() for m in re.finditer(r"\S+", line)] for line in lines]
    held, keys = sorted(places[0] + places[1]), places[2]
    assert len(places[0]) == 3
    assert len(held) == len(keys) == 13
    assert all(card <= key <= card + 2 for card, key in zip(held, keys, strict=True))


def test_followed_hints_are_graded_whatever_else_was_allowed() -> None:
    """Also by an adviser who is certain, of whose chances no other move is worth a line."""
    session = Session.new(against("nolimit_holdem", "call"), None, 3)
    view = session.view()
    while view["phase"] != "over":
        view = session.act(view["turn"], CALL)
    steps = session.review(view["hand"])["steps"]
    mine = [step for step in steps if step["grade"]]
    assert all(len(step["chances"]) == 1 < step["choices"] for step in mine)
    assert text(screen.grades(view, steps, 100), 100).count("✓") == len(mine) > 0


def text(drawn: RenderableType, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(drawn)
    return console.file.getvalue()  # type: ignore[attr-defined]


def in_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    session: Session,
    lines: str,
) -> str:
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    sit_down(session, "'session=a file'")
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert out.endswith("Go on with: poker-rl play ui=terminal 'session=a file'\n")
    return out


def test_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session.new(against("nolimit_holdem", "call"), None, 3)
    lines = "r 3\nescape\nx\nr 12 r\nh\nc\nc\nc\n\n"
    out = in_lines(monkeypatch, capsys, session, lines)
    assert "from 4 to 200" in out
    assert "X does nothing here; ? tells what keys do." in out
    assert "you: Raise to 12 · call: Call 10" in out
    assert re.search("call would\n +Check +100 %", out)
    assert re.search("You (win|lose|come out)", out)
    assert session.view()["hand"] == 2
    assert session.stats()["hands"] == 1


@pytest.mark.parametrize("line", ["r 12.5", "r 1e2", "r -12"])
def test_a_line_with_a_wrong_key_plays_no_part_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str
) -> None:
    session = Session.new(against("nolimit_holdem", "call"), None, 3)
    before = session.view()
    out = in_lines(monkeypatch, capsys, session, f"{line}\n")
    assert "does nothing here; ? tells what keys do." in out
    assert session.view()["turn"] == before["turn"]


def test_nothing_of_a_refused_line_stays_for_the_next(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session.new(against("nolimit_holdem", "call"), None, 3)
    out = in_lines(monkeypatch, capsys, session, "r 999\nr 12\n")
    assert "from 4 to 200" in out
    assert "you: Raise to 12" in out

    session = Session.new(against("big2", "lowest", "lowest", "lowest"), None, 3)
    singles = [list(move["cards"]) for move in session.view()["moves"] if len(move["cards"]) == 1]
    own = session.view()["scene"]["places"][session.view()["ring"][0]["seat"]]["cards"]
    assert [own[0]] not in singles
    assert [own[2]] in singles
    out = in_lines(monkeypatch, capsys, session, "1 3\n1\n")
    assert out.count("These cards are no legal play") == 2  # the third card was not left over


@pytest.mark.parametrize("sizes", [[0.75, 1.5, 2.5], [0.5, 1, "all_in"]])
def test_listed_sizes_are_numbered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sizes: list[Any]
) -> None:
    game = build(option("game", "nolimit_holdem") | {"bet_sizes": sizes}, "game")
    calls = Seated("call", load_player("call", game))
    session = Session.new(Table(game, [calls], calls), None, 3)
    bets = [move for move in session.view()["moves"] if move["to"]]
    assert [move["key"] for move in bets] == ["1", "2", "3"]
    assert f"you: {bets[1]['label']}" in in_lines(monkeypatch, capsys, session, "2 r\n")


@pytest.mark.usefixtures("here")
def test_a_session_of_a_changed_game_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("c\nc\n\n"))
    begun = ["play", "ui=terminal", "game=kuhn", "game.ante=2", "against=[call]", "seed=1"]
    assert code(*begun) == 0
    command = shlex.split(capsys.readouterr().out.splitlines()[-1].removeprefix("Go on with: "))
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n"))
    assert code(*command[1:]) == 0
    assert re.search(r"(Hands|Games) +1\n", capsys.readouterr().out)
    assert code(*command[1:], "game=kuhn") == 2
    assert "is of a table with another game; leave game out" in capsys.readouterr().err
    assert code(*command[1:], "run=outputs") == 2
    assert "run: a session has a game and players of its own" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_a_session_without_an_adviser_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session.new(replace(against("kuhn", "call"), adviser=None), Path(), 3)
    session.close()
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\n"))
    assert code("play", "ui=terminal", f"session={session.name}.jsonl") == 0
    assert "Nobody gives advice" in capsys.readouterr().out


@pytest.mark.usefixtures("here")
def test_the_lines_in_the_documentation_fit_their_hands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "play.md").read_text()
    (found,) = re.findall(r"printf '(.+)' \| poker-rl (play .+)", page)
    keys, command = found[0].replace("\\n", "\n"), shlex.split(found[1], comments=True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    assert code(*command) == 0
    out = capsys.readouterr().out
    assert "does nothing here" not in out
    assert "Your hand: king\nyou: Bet 1" in out
    assert "Your hand: queen\nyou: Fold" in out


def test_where_nothing_but_ascii_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session.new(against("nolimit_holdem", "call"), None, 3)
    monkeypatch.setattr(sys, "stdin", io.StringIO("h\nc\nc\nc\nc\nc\nv\ns\n"))
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        sit_down(session, "session=here")
    text = (tmp_path / "out").read_text()
    assert re.search(r" [2-9TJQKA]0?[shdc] ", text)
    assert "?" not in text.replace("[?]", "").replace("? tells", "")


def test_no_colour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.new(against("kuhn", "call"), None, 3)
    monkeypatch.setenv("NO_COLOR", "1")

    def plays(person: Person) -> None:
        person.see()
        person.type("qq")

    written = at_terminal(monkeypatch, session, tmp_path, 80, plays)
    assert re.search(r"\x1b\[1m", written)
    assert not re.search(r"\x1b\[(\d+;)*[34]8?[;m]", written)


def test_suits_differ_in_shape_and_in_colour() -> None:
    cards = [card(f"A{suit}") for suit in "shdc"]
    assert len({one.plain for one in cards}) == 4
    assert len({str(one.style) for one in cards}) == 4


def test_keys_of_what_a_terminal_sends() -> None:
    assert keys_of("F\r\x7f \x1b[A\x1bOD\x1b[1;2C\x1b[3~ü\x1b") == [
        *["f", "enter", "backspace", "space", "up", "left", "shift right", "ü", "escape"]
    ]
    assert keys_of_line("r 12 enter") == ["r", "1", "2", "enter"]
    assert keys_of_line("\n") == ["enter"]


def test_who_leaves_at_once_sees_no_crash(tmp_path: Path) -> None:
    """While the networks are warmed up, in a thread that torch does not like to be abandoned."""
    left = subprocess.run(
        [sys.executable, "-c", "from poker_rl import cli; cli.main()", "play", "ui=terminal"],
        cwd=tmp_path,
        input=b"q\n",
        capture_output=True,
    )
    assert (left.returncode, left.stderr) == (0, b"")


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "a connection that is gone"])
def test_the_terminal_is_as_before(how: str, tmp_path: Path) -> None:
    with terminal(80) as (master, slave):
        before = termios.tcgetattr(slave)
        command = [sys.executable, "-c", "from poker_rl import cli; cli.main()", "play"]
        with default_signals():
            program = subprocess.Popen(
                [*command, "ui=terminal", "game=kuhn", "against=[call]"],
                cwd=tmp_path,
                env=os.environ | {"TERM": "xterm"},
                stdin=slave,
                stdout=slave,
                stderr=subprocess.PIPE,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            )
        person = Person(master)
        person.see()
        assert termios.tcgetattr(slave) != before
        if how == "Ctrl-C":
            person.type("\x03")
        elif how == "SIGTERM":
            program.send_signal(signal.SIGTERM)
        else:
            os.close(master)
        _, complaints = program.communicate()
        assert complaints == b""
        if how == "a connection that is gone":
            assert program.returncode == 128 + signal.SIGHUP
        else:
            assert program.returncode == {"Ctrl-C": 130, "SIGTERM": 143}[how]
            assert person.read_to_end(slave).count("\x1b[?25h\x1b[?1049l") == 1
            assert termios.tcgetattr(slave) == before
