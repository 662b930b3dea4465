"""Arrays take memory only where they are written, even if the process has free memory."""

import sys
from pathlib import Path

import numpy as np
import pytest

from model.engine.cpu.kernels.arrays import lazy_zeros

ROWS, ROW = 4096, 4096


def resident() -> int:
    """Return the anonymous memory of this process in bytes."""
    status = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssAnon:"))


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.bool_])
def test_they_are_zeros_and_can_be_written(dtype: type) -> None:
    array = lazy_zeros((3, 5), dtype)
    assert (array.shape, array.dtype) == ((3, 5), np.dtype(dtype))
    assert not array.any()
    array[2, 4] = 1
    assert array.sum() == 1
    assert array.flags.c_contiguous
    assert array.flags.aligned
    assert array.flags.writeable


@pytest.mark.parametrize("shape", [(0,), (3, 0), ()])
def test_they_may_be_empty_or_one_number(shape: tuple[int, ...]) -> None:
    assert lazy_zeros(shape, np.float32).shape == shape


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_untouched_pages_take_no_memory() -> None:
    before = resident()
    array = lazy_zeros((ROWS, ROW), np.uint8)
    array[0] = 1
    assert resident() - before < ROWS * ROW / 4
    array[:] = 1
    assert resident() - before > ROWS * ROW / 2
    del array
    assert resident() - before < ROWS * ROW / 4
