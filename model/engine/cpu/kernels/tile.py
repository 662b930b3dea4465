"""The inner loop of every matrix product: a few rows by 64 columns, held in vector registers.

Written as compiler intrinsics since no array notation reaches the CPU's dot-product instruction:
`vpdpbusd` of AVX512-VNNI and AVX-VNNI multiplies 64 pairs of bytes and adds them to 16 sums at
once. Elsewhere portable vector code computes the same integers.

A tile of R rows does the same arithmetic for each as a tile of one: every element of the result is
one sum over k = 0 … K − 1 in that order, so a row's bits never depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, register_jitable

from model.engine.cpu.kernels.llvm import (
    FLOATS,
    INT8,
    INT32,
    INT64,
    INTS,
    LANES,
    data,
    declare,
    fetch,
    load,
    loop,
    multiply_add,
    splat,
    store,
)
from model.engine.cpu.kernels.target import TARGET

COLUMNS = 64
"""Columns of a tile; packed matrices are padded to a multiple."""

ROWS = 4
"""Maximum rows of a tile: with 64 columns 16 registers of sums, enough to keep two units busy."""

GROUP = 4
"""Bytes that one dot-product instruction sums into one number."""

_BLOCKS = COLUMNS // LANES
_BYTES = ir.VectorType(INT8, COLUMNS)

Tile = Callable[..., None]


def _dot_instruction() -> str | None:
    present = [name for name, has in llvm.get_host_cpu_features().items() if has]
    features = set(TARGET.features if TARGET else present)
    if {"avx512vnni", "avx512vl"} <= features:
        return "512"
    if "avxvnni" in features:
        return "256"
    return None


DOT_INSTRUCTION = _dot_instruction()
"""Width in bits of the target's `vpdpbusd`, None without it."""


def _int8_tile(n_rows: int) -> Tile:
    @intrinsic  # type: ignore[untyped-decorator]
    def tile(
        typing_context: Any, x: Any, x_at: Any, row_scale: Any, scale_at: Any, row_sum: Any,
        sum_at: Any, weight: Any, weight_at: Any, ahead: Any, ahead_at: Any, scale: Any,
        column: Any, bias: Any, bias_at: Any, partial: Any, partial_at: Any, out: Any, out_at: Any,
        inputs: Any, width: Any, stride: Any, floor: Any, accumulate: Any, is_first: Any,
        is_last: Any,
    ) -> Any:  # fmt: skip
        """out = max(floor, row_scale · scale · Σ x weight + bias), signed by unsigned bytes.

        With `accumulate`, + out. `width` bytes in a row of x, `stride` numbers in a row of `out`.

        The sum may take several calls of `inputs` bytes each: all but the last store it in
        `partial` [R, 64], and all but the first load it. Meanwhile 16 `inputs` bytes at `ahead`,
        which are read next, are fetched from memory.

        `vpdpbusd` takes its first factor as unsigned, and weights have signs: so w + 128 is stored,
        0 … 255, and Σ x (w + 128) = Σ x w + 128 Σ x. The second part is the same for all columns of
        a row; it is in `row_sum` and is subtracted from the finished sum. These are whole numbers
        within 32 bits (127 · 255 · K, so K ≤ 66,000), so nothing is rounded.
        """

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            x_data, row_scales, row_sums, weights, ahead_, scales, biases, partials, out_data = (
                data(context, b, signature, arguments, index) for index in range(0, 18, 2)
            )
            inputs_, width_, stride_, floor_, accumulate_, is_first_, is_last_ = arguments[18:]
            rows = [b.gep(x_data, [b.mul(width_, INT64(i))]) for i in range(n_rows)]
            stored = [b.gep(partials, [INT64(LANES * i)]) for i in range(n_rows * _BLOCKS)]

            def turn(k: Any, sums: list[Any]) -> list[Any]:
                fetch(b, b.gep(ahead_, [b.mul(k, INT64(COLUMNS // GROUP))]))
                group = b.gep(weights, [b.mul(k, INT64(COLUMNS))])
                columns = [load(b, b.gep(group, [INT64(COLUMNS * j)]), _BYTES) for j in _blocks()]
                added = []
                for i, row in enumerate(rows):
                    four = b.bitcast(b.gep(row, [k]), INT32.as_pointer())
                    repeated = b.bitcast(splat(b, b.load(four, align=1)), _BYTES)
                    added += [
                        _dot(b, sums[_BLOCKS * i + j], columns[j], repeated) for j in _blocks()
                    ]
                return added

            zeros = [ir.Constant(INTS, None)] * len(stored)
            before = b.block
            with b.if_then(b.not_(is_first_)):
                loaded = [load(b, pointer, INTS) for pointer in stored]
                reading = b.block
            initial = [b.phi(INTS) for _ in stored]
            for phi, zero, read in zip(initial, zeros, loaded, strict=True):
                phi.add_incoming(zero, before)
                phi.add_incoming(read, reading)
            sums = loop(b, INT64(0), inputs_, GROUP, initial, turn)
            with b.if_else(is_last_) as (finished, unfinished):
                with finished:
                    results = []
                    for i in range(n_rows):
                        excess = splat(b, b.load(b.gep(row_sums, [INT64(i)])))
                        row_scale_ = splat(b, b.load(b.gep(row_scales, [INT64(i)])))
                        for j in _blocks():
                            exact = b.sitofp(b.sub(sums[_BLOCKS * i + j], excess), FLOATS)
                            column_scale = load(b, b.gep(scales, [INT64(LANES * j)]))
                            results.append(b.fmul(exact, b.fmul(row_scale_, column_scale)))
                    _finish(b, results, biases, accumulate_, floor_, out_data, stride_)
                with unfinished:
                    for pointer, total in zip(stored, sums, strict=True):
                        store(b, total, pointer)
            return context.get_dummy_value()

        return types.void(
            x, types.int64, row_scale, types.int64, row_sum, types.int64, weight, types.int64,
            ahead, types.int64, scale, types.int64, bias, types.int64, partial, types.int64,
            out, types.int64, types.int64, types.int64, types.int64, types.float32, types.boolean,
            types.boolean, types.boolean,
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

            def turn(k: Any, sums: list[Any]) -> list[Any]:
                first = b.gep(weights, [b.mul(k, INT64(COLUMNS))])
                columns = [load(b, b.gep(first, [INT64(LANES * j)])) for j in _blocks()]
                added = []
                for i, row in enumerate(rows):
                    number = splat(b, b.load(b.gep(row, [k])))
                    added += [
                        multiply_add(b, number, columns[j], sums[_BLOCKS * i + j])
                        for j in _blocks()
                    ]
                return added

            zeros = [ir.Constant(FLOATS, None)] * (n_rows * _BLOCKS)
            sums = loop(b, INT64(0), width_, 1, zeros, turn)
            _finish(b, sums, biases, accumulate_, floor_, out_data, stride_)
            return context.get_dummy_value()

        return types.void(
            x, types.int64, weight, types.int64, bias, types.int64, out, types.int64, types.int64,
            types.int64, types.int64, types.float32, types.boolean,
        ), generate  # fmt: skip

    return tile  # type: ignore[no-any-return]


def _finish(
    b: Any, results: Sequence[Any], biases: Any, accumulate: Any, floor: Any, out: Any,
    stride: Any,
) -> None:  # fmt: skip
    """Add the bias and, with `accumulate`, the old value; raise to the floor except NaN; store."""
    lowest = splat(b, floor)
    for index, result in enumerate(results):
        i, j = divmod(index, _BLOCKS)
        to = b.gep(out, [b.add(b.mul(stride, INT64(i)), INT64(LANES * j))])
        value = b.fadd(result, load(b, b.gep(biases, [INT64(LANES * j)])))
        value = b.select(accumulate, b.fadd(value, load(b, to)), value)
        store(b, b.select(b.fcmp_ordered("<", value, lowest), lowest, value), to)


def _dot(b: Any, sums: Any, weights: Any, activations: Any) -> Any:
    """16 sums + the dot products of 16 × 4 unsigned with 16 × 4 signed bytes."""
    if DOT_INSTRUCTION == "512":
        kind = ir.FunctionType(INTS, [INTS, _BYTES, _BYTES])
        function = declare(b.module, kind, "llvm.x86.avx512.vpdpbusd.512")
        return b.call(function, [sums, weights, activations])
    if DOT_INSTRUCTION == "256":
        return _dot_in_halves(b, sums, weights, activations)
    return _portable_dot(b, sums, weights, activations)


def _dot_in_halves(b: Any, sums: Any, weights: Any, activations: Any) -> Any:
    ints, bytes_ = ir.VectorType(INT32, LANES // 2), ir.VectorType(INT8, COLUMNS // 2)
    kind = ir.FunctionType(ints, [ints, bytes_, bytes_])
    function = declare(b.module, kind, "llvm.x86.avx512.vpdpbusd.256")
    halves = []
    for half in range(2):
        parts = [
            b.shuffle_vector(x, x, _lanes(range(half * n // 2, (half + 1) * n // 2)))
            for x, n in ((sums, LANES), (weights, COLUMNS), (activations, COLUMNS))
        ]
        halves.append(b.call(function, parts))
    return b.shuffle_vector(*halves, _lanes(range(LANES)))


def _portable_dot(b: Any, sums: Any, weights: Any, activations: Any) -> Any:
    for byte in range(GROUP):
        lanes = _lanes(range(byte, COLUMNS, GROUP))
        weight = b.zext(b.shuffle_vector(weights, weights, lanes), INTS)
        activation = b.sext(b.shuffle_vector(activations, activations, lanes), INTS)
        sums = b.add(sums, b.mul(weight, activation))
    return sums


def _lanes(indices: range) -> Any:
    return ir.Constant(ir.VectorType(INT32, len(indices)), list(indices))


def _blocks() -> range:
    return range(_BLOCKS)


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
