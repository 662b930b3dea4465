"""The inner loop of every matrix product: a few rows by some columns, held in vector registers.

Written as compiler intrinsics since no array notation reaches the processor's instruction for
products of bytes; `instructions` has those of each processor.

A tile of R rows does the same arithmetic for each as a tile of one: every element of the result is
one sum over k = 0 … K − 1 in that order, so a row's bits never depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from model.engine.cpu.kernels.compiling.byte_products import add_products, by_rows
from model.engine.cpu.kernels.compiling.llvm import (
    FLOATS,
    INT8,
    INT64,
    INTS,
    data,
    fetch,
    load,
    loop,
    multiply_add,
    splat,
    store,
)
from model.engine.cpu.kernels.instructions import (
    COLUMNS,
    INSTRUCTION,
    LANES,
    ROWS,
    TILE_COLUMNS,
    Instruction,
)

Tile = Callable[..., None]


def _int8_tile(n_rows: int, instruction: Instruction = INSTRUCTION) -> Tile:
    columns, group = instruction.columns, instruction.group
    n_sums = instruction.n_sums(n_rows)

    @intrinsic  # type: ignore[untyped-decorator]
    def tile(
        typing_context: Any, x: Any, x_at: Any, row_scale: Any, scale_at: Any, row_sum: Any,
        sum_at: Any, weight: Any, weight_at: Any, scale: Any, column: Any, bias: Any, bias_at: Any,
        partial: Any, partial_at: Any, out: Any, out_at: Any, ahead: Any, pace: Any, inputs: Any,
        width: Any, stride: Any, floor: Any, accumulate: Any, is_first: Any, is_last: Any,
    ) -> Any:  # fmt: skip
        """out = max(floor, row_scale · scale · Σ x weight + bias), of signed numbers x.

        With `accumulate`, + out. `width` inputs in a row of x, `stride` numbers in a row of `out`.

        The sum may take several calls of `inputs` inputs each: all but the last store it in
        `partial` [R, columns], and all but the first load it. Meanwhile `pace` bytes for each input
        are fetched from memory at the address `ahead`, if a tile has all of a panel's columns;
        narrow ones read so little at a time that the processor fetches it by itself.

        `vpdpbusd` takes its first factor as unsigned, and weights have signs: so w + 128 is stored,
        0 … 255, and Σ x (w + 128) = Σ x w + 128 Σ x. The second part is the same for all columns of
        a row; it is in `row_sum` and is subtracted from the finished sum. These are whole numbers
        within 32 bits (127 · 255 · K, so K ≤ 66,000), so nothing is rounded.
        """

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            x_data, row_scales, row_sums, weights, scales, biases, partials, out_data = (
                data(context, b, signature, arguments, index) for index in range(0, 16, 2)
            )
            ahead_ = b.inttoptr(arguments[16], INT8.as_pointer())
            pace_, inputs_, width_, stride_ = arguments[17:21]
            floor_, accumulate_, is_first_, is_last_ = arguments[21:]
            rows = [b.gep(x_data, [b.mul(width_, INT64(i))]) for i in range(n_rows)]
            stored = [b.gep(partials, [INT64(LANES * i)]) for i in range(n_sums)]

            def turn(k: Any, sums: list[Any]) -> list[Any]:
                if columns == COLUMNS:
                    fetch(b, b.gep(ahead_, [b.mul(k, pace_)]))
                at = b.gep(weights, [b.mul(k, INT64(columns))])
                return add_products(instruction, b, sums, at, [b.gep(row, [k]) for row in rows])

            zeros = [ir.Constant(INTS, None)] * n_sums
            before = b.block
            with b.if_then(b.not_(is_first_)):
                loaded = [load(b, pointer, INTS) for pointer in stored]
                reading = b.block
            initial = [b.phi(INTS) for _ in stored]
            for phi, zero, read in zip(initial, zeros, loaded, strict=True):
                phi.add_incoming(zero, before)
                phi.add_incoming(read, reading)
            sums = loop(b, INT64(0), inputs_, group, initial, turn)
            with b.if_else(is_last_) as (finished, unfinished):
                with finished:
                    results = []
                    finished_sums = iter(by_rows(instruction, b, sums, n_rows))
                    for i in range(n_rows):
                        excess = splat(b, b.load(b.gep(row_sums, [INT64(i)])))
                        row_scale_ = splat(b, b.load(b.gep(row_scales, [INT64(i)])))
                        for j in range(columns // LANES):
                            exact = b.sitofp(b.sub(next(finished_sums), excess), FLOATS)
                            column_scale = load(b, b.gep(scales, [INT64(LANES * j)]))
                            results.append(b.fmul(exact, b.fmul(row_scale_, column_scale)))
                    _finish(b, results, n_rows, biases, accumulate_, floor_, out_data, stride_)
                with unfinished:
                    for pointer, total in zip(stored, sums, strict=True):
                        store(b, total, pointer)
            return context.get_dummy_value()

        return types.void(
            x, types.int64, row_scale, types.int64, row_sum, types.int64, weight, types.int64,
            scale, types.int64, bias, types.int64, partial, types.int64, out, types.int64,
            types.int64, types.int64, types.int64, types.int64, types.int64, types.float32,
            types.boolean, types.boolean, types.boolean,
        ), generate  # fmt: skip

    return tile  # type: ignore[no-any-return]


def _float32_tile(n_rows: int) -> Tile:
    @intrinsic  # type: ignore[untyped-decorator]
    def tile(
        typing_context: Any, x: Any, x_at: Any, weight: Any, weight_at: Any, bias: Any,
        bias_at: Any, out: Any, out_at: Any, width: Any, x_stride: Any, stride: Any, floor: Any,
        accumulate: Any,
    ) -> Any:  # fmt: skip
        """out = max(floor, Σ x weight + bias) over `width` numbers of each row of x.

        With `accumulate`, + out.
        """

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            x_data, weights, biases, out_data = (
                data(context, b, signature, arguments, index) for index in range(0, 8, 2)
            )
            width_, x_stride_, stride_, floor_, accumulate_ = arguments[8:]
            rows = [b.gep(x_data, [b.mul(x_stride_, INT64(i))]) for i in range(n_rows)]
            offsets = [INT64(at) for at in range(0, TILE_COLUMNS, LANES)]

            def turn(k: Any, sums: list[Any]) -> list[Any]:
                first = b.gep(weights, [b.mul(k, INT64(TILE_COLUMNS))])
                columns = [load(b, b.gep(first, [offset])) for offset in offsets]
                added: list[Any] = []
                for row in rows:
                    number = splat(b, b.load(b.gep(row, [k])))
                    for column in columns:
                        added.append(multiply_add(b, number, column, sums[len(added)]))
                return added

            zeros = [ir.Constant(FLOATS, None)] * (n_rows * len(offsets))
            sums = loop(b, INT64(0), width_, 1, zeros, turn)
            _finish(b, sums, n_rows, biases, accumulate_, floor_, out_data, stride_)
            return context.get_dummy_value()

        return types.void(
            x, types.int64, weight, types.int64, bias, types.int64, out, types.int64, types.int64,
            types.int64, types.int64, types.float32, types.boolean,
        ), generate  # fmt: skip

    return tile  # type: ignore[no-any-return]


def _finish(
    b: Any, results: Sequence[Any], n_rows: int, biases: Any, accumulate: Any, floor: Any, out: Any,
    stride: Any,
) -> None:  # fmt: skip
    """Add the bias and, with `accumulate`, the old value; raise to the floor except NaN; store."""
    lowest = splat(b, floor)
    for index, result in enumerate(results):
        i, j = divmod(index, len(results) // n_rows)
        to = b.gep(out, [b.add(b.mul(stride, INT64(i)), INT64(LANES * j))])
        value = b.fadd(result, load(b, b.gep(biases, [INT64(LANES * j)])))
        value = b.select(accumulate, b.fadd(value, load(b, to)), value)
        store(b, b.select(b.fcmp_ordered("<", value, lowest), lowest, value), to)


def _by_rows(tiles: Sequence[Tile]) -> Tile:
    """Dispatch by the number of rows, to the largest at most; inlined: a call costs a tenth."""
    one, two, three, four = tiles

    @register_jitable(inline="always")  # type: ignore[untyped-decorator]
    def tile(n_rows: int, arguments: tuple[Any, ...]) -> None:
        if n_rows >= ROWS:
            four(*arguments)
        elif n_rows == 1:
            one(*arguments)
        elif n_rows == 2:
            two(*arguments)
        else:
            three(*arguments)

    return tile  # type: ignore[no-any-return]


int8_tile = _by_rows([_int8_tile(n) for n in range(1, ROWS + 1)])
float32_tile = _by_rows([_float32_tile(n) for n in range(1, ROWS + 1)])
