from __future__ import annotations

from typing import Literal

import pytest
import torch

from model.training import precision
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer

CPU = torch.device("cpu")


@pytest.mark.parametrize(("capability", "expected"), [("avx512_bf16", True), ("avx2", False)])
def test_auto_follows_the_device(
    monkeypatch: pytest.MonkeyPatch, capability: str, expected: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {capability: True})
    assert precision.supports_bf16(CPU) is expected
    assert precision.resolve("auto", CPU) == (torch.bfloat16 if expected else torch.float32)


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_a_named_precision_is_taken(name: Literal["fp32", "bf16"], dtype: torch.dtype) -> None:
    assert precision.resolve(name, CPU) == dtype
    with precision.autocast(CPU, dtype):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_float32_attention_changes_nothing_in_float32() -> None:
    torch.manual_seed(0)
    model = Transformer(PRESETS["tiny"]).eval()
    ids = torch.randint(1, 64, (2, 7))
    with torch.no_grad():
        expected = model(ids, ids)
        precision.keep_attention_in_float32(model)
        torch.testing.assert_close(model(ids, ids), expected, rtol=0, atol=0)
        with precision.autocast(CPU, torch.bfloat16):
            torch.testing.assert_close(model(ids, ids).float(), expected, rtol=0.1, atol=0.1)
