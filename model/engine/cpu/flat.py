"""Vector operations on arrays taken flat, from an offset, unchecked. For kernels only.

Slices of arrays count references, and signed indices are tested for counting from the end; in the
innermost loops both cost more than the arithmetic. A result depends on the numbers that go into it
and on how many there are, never on where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from model.engine.cpu.jit import kernel
from model.engine.cpu.llvm import (
    FLOAT,
    FLOATS,
    INT32,
    INT64,
    INTS,
    LANES,
    data,
    exponential,
    higher,
    load,
    loop,
    multiply_add,
    reduce,
    splat,
    store,
    sum_each,
)
from model.engine.cpu.types import Floats

_ZEROS = ir.Constant(FLOATS, None)
_LOWEST = float(np.finfo(np.float32).min)


@intrinsic  # type: ignore[untyped-decorator]
def get(typing_context: Any, array: Any, at: Any) -> Any:
    """array[at]."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        return b.load(data(context, b, signature, arguments, 0))

    return array.dtype(array, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def put(typing_context: Any, array: Any, at: Any, value: Any) -> Any:
    """array[at] = value."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        b.store(arguments[2], data(context, b, signature, arguments, 0))
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), generate


@intrinsic  # type: ignore[untyped-decorator]
def maximum_below(typing_context: Any, x: Any, at: Any, n: Any, limit: Any) -> Any:
    """The largest of n numbers that is less than the limit; −∞ of none, NaN passed over.

    Here as below, memory up to the next multiple of 16 numbers must be there.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers, limits = data(context, b, signature, arguments, 0), splat(b, arguments[3])

        def turn(i: Any, held: list[Any]) -> list[Any]:
            here = _masked(b, numbers, i, arguments[2])
            fits = b.and_(b.fcmp_ordered(">", here, held[0]), b.fcmp_ordered("<", here, limits))
            return [b.select(fits, here, held[0])]

        lowest = splat(b, FLOAT(float("-inf")))
        (highest,) = loop(b, INT64(0), arguments[2], LANES, [lowest], turn)
        return reduce(b, highest, partial(higher, b))

    return types.float32(x, types.int64, types.int64, types.float32), generate


@kernel
def maximum(x: Floats, at: int, n: int) -> np.float32:
    """The largest of n numbers."""
    highest: np.float32 = maximum_below(x, at, n, np.float32(np.inf))
    return highest


@intrinsic  # type: ignore[untyped-decorator]
def exponentiate(typing_context: Any, x: Any, at: Any, n: Any, highest: Any) -> Any:
    """x[i] becomes e^(x[i] − highest), none of n numbers being above `highest`; their sum.

    Behind the last, up to a multiple of 16, there are zeros then. NaN if one is.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers, shift = data(context, b, signature, arguments, 0), splat(b, arguments[3])

        def turn(i: Any, held: list[Any]) -> list[Any]:
            powers = exponential(b, b.fsub(_masked(b, numbers, i, arguments[2]), shift))
            store(b, powers, b.gep(numbers, [i]))
            return [b.fadd(held[0], powers)]

        (total,) = loop(b, INT64(0), arguments[2], LANES, [_ZEROS], turn)
        return reduce(b, total, b.fadd)

    return types.float32(x, types.int64, types.int64, types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def summarise(
    typing_context: Any, x: Any, at: Any, highest: Any, highest_at: Any, total: Any, total_at: Any
) -> Any:
    """highest[…] = the largest of 64 numbers, total[…] = Σ e^(x[i] − that), in one reading.

    NaN is passed over for the largest and makes the sum NaN, as ∞ does. Of 64 times −∞ it is 0.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers, highest_, total_ = (
            data(context, b, signature, arguments, index) for index in (0, 2, 4)
        )
        four = [load(b, b.gep(numbers, [INT64(LANES * i)])) for i in range(4)]
        lowest = splat(b, FLOAT(float("-inf")))
        upper = [higher(b, lowest, vector) for vector in four]
        largest = higher(b, higher(b, upper[0], upper[1]), higher(b, upper[2], upper[3]))
        top = reduce(b, largest, partial(higher, b))
        b.store(top, highest_)
        # Where nothing has any probability, −∞ less −∞ would be NaN.
        shift = splat(b, higher(b, FLOAT(_LOWEST), top))
        powers = [exponential(b, b.fsub(vector, shift)) for vector in four]
        sums = b.fadd(b.fadd(powers[0], powers[1]), b.fadd(powers[2], powers[3]))
        b.store(reduce(b, sums, b.fadd), total_)
        return context.get_dummy_value()

    return types.void(
        x, types.int64, highest, types.int64, total, types.int64
    ), generate  # fmt: skip


@intrinsic  # type: ignore[untyped-decorator]
def sum_of_scaled_exponentials(
    typing_context: Any, x: Any, at: Any, scale: Any, scale_at: Any, n: Any, highest: Any
) -> Any:
    """Σ scale[i] e^(x[i] − highest) over n numbers, none above `highest`."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers = data(context, b, signature, arguments, 0)
        scales = data(context, b, signature, arguments, 2)
        shift = splat(b, arguments[5])

        def turn(i: Any, held: list[Any]) -> list[Any]:
            powers = exponential(b, b.fsub(_masked(b, numbers, i, arguments[4]), shift))
            return [multiply_add(b, powers, load(b, b.gep(scales, [i])), held[0])]

        (total,) = loop(b, INT64(0), arguments[4], LANES, [_ZEROS], turn)
        return reduce(b, total, b.fadd)

    return types.float32(x, types.int64, scale, types.int64, types.int64, types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def dot_products(
    typing_context: Any, x: Any, x_at: Any, rows: Any, rows_at: Any, places: Any, places_at: Any,
    out: Any, out_at: Any, n: Any, width: Any, stride: Any, scale: Any,
) -> Any:  # fmt: skip
    """out[s] = scale · Σ x[i] rows[places[s] · stride + i], i < width, for every s < n.

    Sixteen rows at a time; what is behind out[n − 1], up to a multiple of 16, is written too.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        x_data, row_data, place_data, out_data = (
            data(context, b, signature, arguments, index) for index in (0, 2, 4, 6)
        )
        n_, width_, stride_, scale_ = arguments[8:]
        whole, last = b.and_(width_, INT64(-LANES)), b.sub(n_, INT64(1))

        def sixteen(first: Any, _: list[Any]) -> list[Any]:
            rows_ = []
            for lane in range(LANES):
                s = b.add(first, INT64(lane))
                s = b.select(b.icmp_signed("<", s, last), s, last)
                row = b.load(b.gep(place_data, [s]))
                rows_.append(b.gep(row_data, [b.mul(row, stride_)]))

            def whole_vectors(i: Any, sums: list[Any]) -> list[Any]:
                numbers = load(b, b.gep(x_data, [i]))
                return [
                    multiply_add(b, numbers, load(b, b.gep(row, [i])), total)
                    for row, total in zip(rows_, sums, strict=True)
                ]

            def single_numbers(i: Any, sums: list[Any]) -> list[Any]:
                number = b.load(b.gep(x_data, [i]))
                return [
                    b.fadd(
                        total,
                        b.insert_element(_ZEROS, b.fmul(number, b.load(b.gep(row, [i]))), INT32(0)),
                    )
                    for row, total in zip(rows_, sums, strict=True)
                ]

            sums = loop(b, INT64(0), whole, LANES, [_ZEROS] * LANES, whole_vectors)
            sums = loop(b, whole, width_, 1, sums, single_numbers)
            store(b, b.fmul(sum_each(b, sums), splat(b, scale_)), b.gep(out_data, [first]))
            return []

        loop(b, INT64(0), n_, LANES, [], sixteen)
        return context.get_dummy_value()

    return types.void(
        x, types.int64, rows, types.int64, places, types.int64, out, types.int64, types.int64,
        types.int64, types.int64, types.float32,
    ), generate  # fmt: skip


def _weighted_sum(n_vectors: int) -> Callable[..., None]:
    @intrinsic  # type: ignore[untyped-decorator]
    def weighted_sum(
        typing_context: Any, weights: Any, weights_at: Any, rows: Any, rows_at: Any, places: Any,
        places_at: Any, out: Any, out_at: Any, n: Any, stride: Any, scale: Any,
    ) -> Any:  # fmt: skip
        """out[i] = scale · Σ weights[s] rows[places[s] · stride + i] over s < n, in their order."""

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            weight_data, row_data, place_data, out_data = (
                data(context, b, signature, arguments, index) for index in (0, 2, 4, 6)
            )

            def turn(s: Any, sums: list[Any]) -> list[Any]:
                place = b.load(b.gep(place_data, [s]))
                row = b.gep(row_data, [b.mul(place, arguments[9])])
                weight = splat(b, b.load(b.gep(weight_data, [s])))
                return [
                    multiply_add(b, weight, load(b, b.gep(row, [INT64(LANES * i)])), total)
                    for i, total in enumerate(sums)
                ]

            sums = loop(b, INT64(0), arguments[8], 1, [_ZEROS] * n_vectors, turn)
            scale_ = splat(b, arguments[10])
            for i, total in enumerate(sums):
                store(b, b.fmul(total, scale_), b.gep(out_data, [INT64(LANES * i)]))
            return context.get_dummy_value()

        return types.void(
            weights, types.int64, rows, types.int64, places, types.int64, out, types.int64,
            types.int64, types.int64, types.float32,
        ), generate  # fmt: skip

    return weighted_sum  # type: ignore[no-any-return]


weighted_sum_16 = _weighted_sum(1)
"""Of 16 columns."""

weighted_sum_64 = _weighted_sum(4)
"""Of 64 columns."""


def _masked(b: Any, numbers: Any, i: Any, n: Any) -> Any:
    """16 numbers from the i-th, −∞ in place of those beyond the n-th."""
    n_left = splat(b, b.trunc(b.sub(n, i), INT32))
    is_there = b.icmp_signed("<", ir.Constant(INTS, list(range(LANES))), n_left)
    return b.select(is_there, load(b, b.gep(numbers, [i])), splat(b, FLOAT(float("-inf"))))
