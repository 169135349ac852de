"""Networks learn in bfloat16 where it is requested and the device has it."""

from __future__ import annotations

import pytest
import torch

from poker_rl.learning import matmul_precision


@pytest.fixture(autouse=True)
def highest():
    yield
    torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize(
    ("requested", "has", "taken"),
    [
        ("medium", True, "medium"),
        ("medium", False, "highest"),
        ("high", False, "high"),
        ("highest", True, "highest"),
    ],
)
def test_medium_is_taken_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, requested: str, has: bool, taken: str
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has)
    matmul_precision.set_matmul_precision(requested, torch.device("cpu"))
    assert torch.get_float32_matmul_precision() == taken
