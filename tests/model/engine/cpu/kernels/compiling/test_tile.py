"""All instructions of this processor give the same integers."""

import itertools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite import binding
from numba.core.registry import cpu_target
from numpy.typing import NDArray

from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.compiling import tile
from model.engine.cpu.kernels.compiling.dispatcher import compiler_options
from model.engine.cpu.kernels.instructions import COLUMNS, INSTRUCTIONS, PORTABLE, ROWS, Instruction
from model.engine.cpu.kernels.target import features_of

FEATURES = features_of(*cpu_target.target_context.codegen().magic_tuple())
FEATURES.update(name for name, has in binding.get_host_cpu_features().items() if has)
N_GROUPS = (1, 3, 50)


def runs_here(needed: tuple[str, ...]) -> bool:
    if needed == ("avxvnni",):  # the same instruction, encoded otherwise
        needed = ("avx512vnni", "avx512vl")
    return FEATURES.issuperset(needed)


HERE = [PORTABLE, *(one for needed, one in INSTRUCTIONS if runs_here(needed))]


def compiled(instruction: Instruction, n_rows: int) -> Callable[..., None]:
    intrinsic: Any = tile._int8_tile(n_rows, instruction)

    @numba.njit(**compiler_options(fastmath=False))  # type: ignore[untyped-decorator]
    def product(
        x: NDArray[Any], row_scale: Floats, row_sum: NDArray[np.int32], weight: NDArray[np.uint8],
        scale: Floats, bias: Floats, partial: NDArray[np.int32], out: Floats, middle: int,
        width: int, floor: np.float32,
    ) -> None:  # fmt: skip
        for begin, end in ((0, middle), (middle, width)):
            weight_at = begin * instruction.columns
            intrinsic(x, begin, row_scale, 0, row_sum, 0, weight, weight_at, scale, 0, bias, 0,
                      partial, 0, out, 0, weight.ctypes.data, 1, end - begin, width, COLUMNS,
                      floor, False, begin == 0, end == width)  # fmt: skip

    product_: Callable[..., None] = product
    return product_


@pytest.mark.parametrize("instruction", HERE, ids=lambda one: one.name)
def test_products_are_exact(instruction: Instruction) -> None:
    choose = np.random.default_rng(0)
    group, columns = instruction.group, instruction.columns
    ones = np.ones(COLUMNS, np.float32)
    for n_rows in (ROWS - 1, ROWS) if instruction.rows > 1 else (2,):
        product = compiled(instruction, n_rows)
        for n_groups, extreme in itertools.product(N_GROUPS, (0, -127, 127)):
            width = n_groups * group
            x = choose.integers(-127, 128, (n_rows, width)).astype(f"int{instruction.bits}")
            weight = choose.integers(-127, 128, (columns, width)).astype(np.int8)
            if extreme:  # sums of pairs beyond 16 bits, where `vpmaddubsw` saturates
                x[:], weight[:] = 127, extreme
            stored = weight.view(np.uint8) + np.uint8(instruction.offset)
            packed = stored.reshape(columns, -1, group).transpose(1, 0, 2).ravel()
            row_sum = (instruction.offset * x.sum(axis=1, dtype=np.int32)).astype(np.int32)
            out = np.zeros((n_rows, COLUMNS), np.float32)
            partial = np.zeros(n_rows * COLUMNS, np.int32)
            product(x.ravel(), ones, row_sum, packed, ones, 0 * ones, partial, out,
                    n_groups // 2 * group, width, np.float32(-np.inf))  # fmt: skip
            exact = x.astype(np.int64) @ weight.astype(np.int64).T
            np.testing.assert_array_equal(out[:, :columns], exact)
