"""The check and the measurement of learners on a GPU, without one."""

from __future__ import annotations

from time import monotonic
from types import SimpleNamespace
from typing import Any

import gpu
import pytest
import torch
from gpu import CHECKS, SPEEDS, main, print_speeds, run_row, sum_busy_seconds
from torch.autograd import DeviceType  # type: ignore[attr-defined]

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


def test_the_table_of_speeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    with_hardware = "experiment=ppo_lhe hardware=gpu_ppo"

    def run(task: str, row: str, *_: Any) -> dict[str, Any]:
        asked.append(row)
        if "device=cpu" in row:
            return {"rate": 1000.0}
        if row == with_hardware:
            return {"rate": 5000.0, "GPU GiB": 2.0, "GPU busy": 0.5}
        return {"error": "ValueError: no"}

    monkeypatch.setattr(gpu, "run_row", run)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    print_speeds(["experiment=ppo_lhe", with_hardware], 1.0, 0.0)
    assert sorted(asked) == [
        "experiment=ppo_lhe device=cpu threads=1",
        "experiment=ppo_lhe device=cuda",
        with_hardware,
    ]
    assert capsys.readouterr().out.splitlines()[1:] == [
        "| decisions/s | one core | GPU | ratio | GPU busy | GPU GiB |",
        "|---|---|---|---|---|---|",
        "| `experiment=ppo_lhe`; ValueError: no | 1,000 |  |  |  |  |",
        "| `experiment=ppo_lhe hardware=gpu_ppo` | 1,000 | 5,000 | 5.00 | 50% | 2.0 |",
    ]


def test_kernels_that_overlap_are_counted_once() -> None:
    def event(start: float, end: float, on: Any = DeviceType.CUDA, noted: bool = False) -> Any:
        span = SimpleNamespace(start=start, end=end)
        return SimpleNamespace(device_type=on, time_range=span, is_user_annotation=noted)

    kernels = [event(30, 40), event(0, 10), event(5, 20), event(6, 8)]
    others = [event(0, 100, DeviceType.CPU), event(0, 100, noted=True)]
    assert sum_busy_seconds(kernels + others) == pytest.approx(30e-6)
