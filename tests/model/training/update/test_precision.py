from typing import Literal

import pytest
import torch

from model.errors import TrainingError
from model.training.update import precision
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer
from tests.model.training.toy import Recorder, Workshop

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("capability", "bf16_seconds", "expected"),
    [
        ("avx512_bf16", 0.5, torch.bfloat16),
        ("avx512_bf16", 0.9, torch.float32),  # too small a gain for the rounding
        ("amx_bf16", 0.1, torch.bfloat16),
        ("avx2", 0.1, torch.float32),
    ],
)
def test_auto_selects_bf16_where_it_is_faster(
    monkeypatch: pytest.MonkeyPatch, capability: str, bf16_seconds: float, expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {capability: True})
    seconds = {torch.float32: 1.0, torch.bfloat16: bf16_seconds}
    monkeypatch.setattr(precision, "seconds_of_a_product", seconds.__getitem__)
    assert precision.resolve("auto", CPU) == expected


def test_a_product_is_timed_in_either_type() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int8):
        assert 0 <= precision.seconds_of_a_product(dtype) < 5


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_a_named_precision_is_used(name: Literal["fp32", "bf16"], dtype: torch.dtype) -> None:
    assert precision.resolve(name, CPU) == dtype
    with precision.autocast(CPU, dtype):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == dtype


def test_int8_is_refused_without_int8_products() -> None:
    with pytest.raises(TrainingError, match="precision int8 is for CPUs, not for cuda:1"):
        precision.resolve("int8", torch.device("cuda:1"))
    assert precision.resolve("int8", CPU) == torch.float32


@pytest.mark.parametrize(("int8_seconds", "factor"), [(0.3, None), (1.0, None), (15.04, "15.0 ×")])
def test_a_run_warns_once_that_int8_products_are_slow(
    monkeypatch: pytest.MonkeyPatch, workshop: Workshop, int8_seconds: float, factor: str | None
) -> None:
    seconds = {torch.float32: 1.0, torch.int8: int8_seconds}
    monkeypatch.setattr(precision, "seconds_of_a_product", seconds.__getitem__)
    reporter = Recorder()
    workshop.open("fp32", reporter=reporter)
    assert not reporter.warnings
    workshop.open("int8", precision="int8", reporter=reporter)
    message = f"int8 products take {factor} as long as float32 ones here; precision auto is faster"
    assert reporter.warnings == ([message] if factor else [])


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


def test_denormal_numbers_are_zero_in_the_context() -> None:
    shrinking = torch.full((64,), 1e-38)
    with precision.flushed_denormals():
        assert not (shrinking * 0.5).any()
    assert (shrinking * 0.5).all()
