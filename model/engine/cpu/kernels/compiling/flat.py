"""Vector operations on arrays taken flat, from an offset, unchecked. For kernels only.

Slices of arrays count references, and signed indices are checked for counting from the end; in the
innermost loops both cost more than the arithmetic. A result depends on its numbers and their count,
never on their position in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from model.engine.cpu.kernels.compiling.llvm import (
    FLOAT,
    FLOATS,
    INT32,
    INT64,
    INTS,
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
from model.engine.cpu.kernels.instructions import LANES

_ZEROS = ir.Constant(FLOATS, None)


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
def maximum(typing_context: Any, x: Any, at: Any, n: Any) -> Any:
    """The largest of n numbers, ignoring NaN; −∞ of none.

    Here and below, memory must extend to the next multiple of 16 numbers.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers = data(context, b, signature, arguments, 0)

        def turn(i: Any, held: list[Any]) -> list[Any]:
            return [higher(b, held[0], _masked(b, numbers, i, arguments[2]))]

        lowest = splat(b, FLOAT(float("-inf")))
        (highest,) = loop(b, INT64(0), arguments[2], LANES, [lowest], turn)
        return reduce(b, highest, partial(higher, b))

    return types.float32(x, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def any_above(typing_context: Any, x: Any, at: Any, bound: Any) -> Any:
    """Whether any of 64 numbers is above the bound."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers, bounds = data(context, b, signature, arguments, 0), splat(b, arguments[2])
        above = ir.Constant(ir.VectorType(ir.IntType(1), LANES), None)
        for vector in _four(b, numbers):
            above = b.or_(above, b.fcmp_ordered(">", vector, bounds))
        return b.icmp_unsigned("!=", b.bitcast(above, ir.IntType(LANES)), ir.IntType(LANES)(0))

    return types.boolean(x, types.int64, types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_exponentials(
    typing_context: Any, x: Any, at: Any, highest: Any, totals: Any, totals_at: Any
) -> Any:
    """totals[j] += Σ e^(x[i] − highest) over those of 64 numbers with i ≡ j modulo 16.

    `highest` is finite and at least each of them. NaN makes its sum NaN.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers, totals_ = (data(context, b, signature, arguments, index) for index in (0, 3))
        shift = splat(b, arguments[2])
        powers = [exponential(b, b.fsub(vector, shift)) for vector in _four(b, numbers)]
        sums = b.fadd(b.fadd(powers[0], powers[1]), b.fadd(powers[2], powers[3]))
        store(b, b.fadd(load(b, totals_), sums), totals_)
        return context.get_dummy_value()

    return types.void(x, types.int64, types.float32, totals, types.int64), generate


def _four(b: Any, numbers: Any) -> list[Any]:
    """64 numbers."""
    return [load(b, b.gep(numbers, [INT64(LANES * i)])) for i in range(4)]


@intrinsic  # type: ignore[untyped-decorator]
def exponentiate(typing_context: Any, x: Any, at: Any, n: Any, highest: Any) -> Any:
    """x[i] = e^(x[i] − highest) for n numbers, none above `highest`; returns their sum.

    Writes zeros after the last, up to a multiple of 16. The sum is NaN if a number is.
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
def dot_products(
    typing_context: Any, x: Any, x_at: Any, rows: Any, rows_at: Any, indices: Any, indices_at: Any,
    out: Any, out_at: Any, n: Any, width: Any, stride: Any, scale: Any,
) -> Any:  # fmt: skip
    """out[s] = scale · Σ x[i] rows[indices[s] · stride + i], i < width, for every s < n.

    Sixteen rows at a time, so it also writes after out[n − 1], up to a multiple of 16.
    """

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        x_data, row_data, index_data, out_data = (
            data(context, b, signature, arguments, index) for index in (0, 2, 4, 6)
        )
        n_, width_, stride_, scale_ = arguments[8:]
        whole, last = b.and_(width_, INT64(-LANES)), b.sub(n_, INT64(1))

        def sixteen(first: Any, _: list[Any]) -> list[Any]:
            rows_ = []
            for lane in range(LANES):
                s = b.add(first, INT64(lane))
                s = b.select(b.icmp_signed("<", s, last), s, last)
                row = b.load(b.gep(index_data, [s]))
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
        x, types.int64, rows, types.int64, indices, types.int64, out, types.int64, types.int64,
        types.int64, types.int64, types.float32,
    ), generate  # fmt: skip


@intrinsic  # type: ignore[untyped-decorator]
def total(typing_context: Any, x: Any, at: Any, n: Any) -> Any:
    """Σ x[i] over i < n."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers = data(context, b, signature, arguments, 0)
        return _sum(b, numbers, arguments[2], lambda x, sum_: b.fadd(sum_, x))

    return types.float32(x, types.int64, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def squares(typing_context: Any, x: Any, at: Any, n: Any, mean: Any) -> Any:
    """Σ (x[i] − mean)² over i < n."""

    def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
        numbers = data(context, b, signature, arguments, 0)
        means = splat(b, arguments[3])

        def add(x: Any, sum_: Any) -> Any:
            deviation = b.fsub(x, means)
            return multiply_add(b, deviation, deviation, sum_)

        return _sum(b, numbers, arguments[2], add)

    return types.float32(x, types.int64, types.int64, types.float32), generate


def _sum(b: Any, numbers: Any, n: Any, add: Callable[[Any, Any], Any]) -> Any:
    """One sum: 64 numbers at a time in four vectors, in an order that no processor changes."""
    whole = b.and_(n, INT64(-4 * LANES))

    def turn(i: Any, sums: list[Any]) -> list[Any]:
        vectors = _four(b, b.gep(numbers, [i]))
        return [add(x, sum_) for x, sum_ in zip(vectors, sums, strict=True)]

    def single(i: Any, sums: list[Any]) -> list[Any]:
        return [add(splat(b, b.load(b.gep(numbers, [i]))), sums[0])]

    sums = loop(b, INT64(0), whole, 4 * LANES, [_ZEROS] * 4, turn)
    one = reduce(b, b.fadd(b.fadd(sums[1], sums[0]), b.fadd(sums[3], sums[2])), b.fadd)
    (one,) = loop(b, whole, n, 1, [splat(b, one)], single)
    return b.extract_element(one, INT32(0))


def _weighted_sum(n_vectors: int) -> Callable[..., None]:
    @intrinsic  # type: ignore[untyped-decorator]
    def weighted_sum(
        typing_context: Any, weights: Any, weights_at: Any, rows: Any, rows_at: Any, indices: Any,
        indices_at: Any, out: Any, out_at: Any, n: Any, stride: Any, scale: Any,
    ) -> Any:  # fmt: skip
        """out[i] = scale · Σ weights[s] rows[indices[s] · stride + i] over s < n, in order."""

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            weight_data, row_data, index_data, out_data = (
                data(context, b, signature, arguments, index) for index in (0, 2, 4, 6)
            )

            def turn(s: Any, sums: list[Any]) -> list[Any]:
                index = b.load(b.gep(index_data, [s]))
                row = b.gep(row_data, [b.mul(index, arguments[9])])
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
            weights, types.int64, rows, types.int64, indices, types.int64, out, types.int64,
            types.int64, types.int64, types.float32,
        ), generate  # fmt: skip

    return weighted_sum  # type: ignore[no-any-return]


weighted_sum_16 = _weighted_sum(1)
"""The weighted sum of 16 columns."""

weighted_sum_64 = _weighted_sum(4)
"""The weighted sum of 64 columns."""


def _masked(b: Any, numbers: Any, i: Any, n: Any) -> Any:
    """16 numbers from the i-th, with −∞ instead of those beyond the n-th."""
    n_left = splat(b, b.trunc(b.sub(n, i), INT32))
    is_there = b.icmp_signed("<", ir.Constant(INTS, list(range(LANES))), n_left)
    return b.select(is_there, load(b, b.gep(numbers, [i])), splat(b, FLOAT(float("-inf"))))
