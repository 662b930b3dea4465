"""The dot products of other machines give the integers of this one's."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding
from numpy.typing import NDArray

from model.engine.cpu.kernels import tile
from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.jit import compiler_options
from model.engine.cpu.kernels.tile import COLUMNS, GROUP

N_ROWS = 2
WIDTHS = (GROUP, 3 * GROUP, 50 * GROUP)
FEATURES = binding.get_host_cpu_features()
HALVES = FEATURES.get("avxvnni") or (FEATURES.get("avx512vnni") and FEATURES.get("avx512vl"))


def compiled(instruction: str | None, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(tile, "DOT_INSTRUCTION", instruction)
    intrinsic: Any = tile._int8_tile(N_ROWS)

    @numba.njit(**compiler_options(fastmath=False))  # type: ignore[untyped-decorator]
    def product(
        x: NDArray[np.int8], row_scale: Floats, row_sum: NDArray[np.int32],
        weight: NDArray[np.uint8], scale: Floats, bias: Floats, out: Floats, width: int,
        floor: np.float32,
    ) -> None:  # fmt: skip
        intrinsic(x, 0, row_scale, 0, row_sum, 0, weight, 0, weight, 0, scale, 0, bias, 0, row_sum,
                  0, out, 0, width, width, COLUMNS, floor, False, True, True)  # fmt: skip

    product_: Callable[..., None] = product
    return product_


@pytest.mark.parametrize(
    "instruction",
    [None, pytest.param("256", marks=pytest.mark.skipif(not HALVES, reason="no such instruction"))],
)
def test_dot_products_give_equal_integers(
    instruction: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    product = compiled(instruction, monkeypatch)
    choose = np.random.default_rng(0)
    ones = np.ones(COLUMNS, np.float32)
    for width in WIDTHS:
        for extreme in (False, True):
            x = choose.integers(-127, 128, (N_ROWS, width)).astype(np.int8)
            weight = choose.integers(1, 256, (COLUMNS, width)).astype(np.uint8)
            if extreme:  # sums of pairs beyond 16 bits, where older instructions saturate
                x[:], weight[:] = 127, 255
            packed = weight.reshape(COLUMNS, -1, GROUP).transpose(1, 0, 2).ravel()
            row_sum = (128 * x.sum(axis=1, dtype=np.int32)).astype(np.int32)
            out = np.zeros((N_ROWS, COLUMNS), np.float32)
            product(x.ravel(), ones, row_sum, packed, ones, 0 * ones, out, width,
                    np.float32(-np.inf))  # fmt: skip
            exact = x.astype(np.int64) @ (weight.astype(np.int64) - 128).T
            np.testing.assert_array_equal(out, exact)
