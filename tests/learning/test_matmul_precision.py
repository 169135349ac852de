"""Networks learn in bfloat16 where it was asked for and where the device has it."""

from __future__ import annotations

import pytest
import torch

from poker_rl.learning import matmul_precision


@pytest.fixture(autouse=True)
def highest():
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("asked", "has", "taken"),
    [
        ("medium", True, "medium"),
        ("medium", False, "highest"),
        ("high", False, "high"),
        ("highest", True, "highest"),
    ],
)
def test_medium_is_taken_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, asked: str, has: bool, taken: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    matmul_precision.set_matmul_precision(asked, torch.device("cpu"))
    assert torch.get_float32_matmul_precision() == taken


def test_devices_that_nobody_knows_have_it_not() -> None:
    matmul_precision.set_matmul_precision("medium", torch.device("meta"))
    assert torch.get_float32_matmul_precision() == "highest"
