"""Play in a terminal, where each decision is a line of input."""

import io
import re
import shlex
import signal
import subprocess
import sys

import pytest
from commands import PROGRAM, run_command
from processes import default_signals
from servers import make_table_setup

from poker_rl.play.session import Session
from poker_rl.play.terminal import run_input_loop

COMMAND = [*PROGRAM, "play", "ui=terminal"]


@pytest.fixture
def play(monkeypatch, capsys):
    def play(session, lines):
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
        run_input_loop(session, "'session=a file'")
        out = capsys.readouterr().out
        assert out.endswith("Resume with: poker-rl play ui=terminal 'session=a file'\n")
        return out

    return play


def test_holdem_hand_is_played_by_typed_moves(play):
    session = Session.create(make_table_setup("nolimit_holdem", "call"), None, 3)
    out = play(session, "r 3\nr\nx\nr 12\nh\nc\nc\nc\nv\ns\n\n")
    assert "from 4 to 200" in out
    assert "Type an amount too" in out
    assert "That is no legal move; ? lists" in out
    assert "you: Raise to 12\ncall: Call 10\nflop" in out
    assert "call would\n  100.0 %  Check" in out
    assert re.search(r"You (win|lose) \d+ chips|You come out even", out)
    assert re.search(r"you with .. .. on preflop: Raise to 12", out)
    assert re.search(r"VPIP +100%", out)
    assert re.search(r"bb/100 +[+-]?\d", out)
    assert session.build_view()["hand"] == 2
    assert session.build_view()["stats"]["hands"] == 1


@pytest.mark.parametrize("line", ["r 12.5", "r -12", "r 12 12", "f", "r " + "9" * 5000])
def test_invalid_line_changes_nothing(play, line):
    session = Session.create(make_table_setup("nolimit_holdem", "call"), None, 3)
    before = session.build_view()["turn"]
    out = play(session, f"{line}\n")
    assert re.search(r"That is no legal move|whole number of chips", out)
    assert session.build_view()["turn"] == before


def test_big2_moves_are_typed_as_cards(play):
    session = Session.create(make_table_setup("big2", "lowest", "lowest", "lowest"), None, 3)
    move = next(move for move in session.build_view()["moves"] if move["cards"])
    out = play(session, f"3d 4d 6s\n{' '.join(move['cards']).upper()}\n")
    assert "That is no legal move" in out
    assert f"you: {move['label']}\n" in out


@pytest.mark.usefixtures("working_folder")
def test_session_with_changed_game_settings_is_resumed(monkeypatch, capsys, get_refusal):
    monkeypatch.setattr(sys, "stdin", io.StringIO("c\nc\n\n"))
    start = ["play", "ui=terminal", "game=kuhn", "game.ante=2", "against=[call]", "seed=1"]
    assert run_command(*start) == 0
    resume = shlex.split(capsys.readouterr().out.splitlines()[-1].removeprefix("Resume with: "))
    monkeypatch.setattr(sys, "stdin", io.StringIO("s\n"))
    assert run_command(*resume[1:]) == 0
    assert re.search(r"(Hands|Games) +1\n", capsys.readouterr().out)
    for setting in ("game=kuhn", "run=outputs", "seed=1"):
        assert "session: has its own game, players and seed" in get_refusal(*resume[1:], setting)


@pytest.mark.usefixtures("working_folder")
def test_bundled_player_advises_by_default(monkeypatch, capsys):
    no_adviser = "Nobody gives advice at this table"
    for game, message in (("leduc", "leduc_ac would"), ("kuhn_3p", no_adviser)):
        monkeypatch.setattr(sys, "stdin", io.StringIO("h\n"))
        assert run_command("play", "ui=terminal", "seed=1", f"game={game}", "against=[call]") == 0
        assert message in capsys.readouterr().out


def test_ctrl_c_ends_the_program_and_prints_how_to_resume(tmp_path):
    with default_signals():
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = [*COMMAND, "game=kuhn", "against=[call]"]
        process = subprocess.Popen(command, cwd=tmp_path, bufsize=0, **pipes)
    printed = b""
    while not printed.endswith(b"\n> "):
        assert process.poll() is None
        printed += process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert b"Resume with: poker-rl play ui=terminal session=" in out
    assert (process.returncode, err) == (130, b"")
