"""The check and the measurement of learners on a GPU, without one."""

from __future__ import annotations

from time import monotonic

import gpu
import pytest
import torch
from gpu import CHECKS, SPEEDS, main, run_row

from poker_rl.config.compose import compose_plain_config


@pytest.mark.parametrize("row", [*CHECKS, *SPEEDS])
def test_every_row_composes(row: str) -> None:
    assert "net" in compose_plain_config(row.split())


def test_a_check_and_a_speed_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    command = ["gpu.py", "--only", "reinforce", "kuhn", "--seconds", "0.1"]
    monkeypatch.setattr("sys.argv", command)
    monkeypatch.setattr(gpu, "WARMUP_SECONDS", 0)
    main()
    out = capsys.readouterr().out.splitlines()
    assert out[0].endswith("cores")
    assert "- `game=leduc algo=reinforce`: ok" in out
    assert "| decisions/s | one core |" in out
    row, rate = out[-1].strip("| ").split(" | ")
    assert row == "`game=kuhn algo=ppo`"
    assert int(rate.replace(",", "")) > 0


def test_an_error_or_the_time_limit_ends_one_row() -> None:
    end = monotonic() + 60
    result = run_row("check", "game=chess", 0, 60, end)
    assert result["error"].startswith("ConfigError: game=chess: no such option")
    assert run_row("check", "game=leduc", 0, 60, monotonic()) == {"error": "no time left"}
