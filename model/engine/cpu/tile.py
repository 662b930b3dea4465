"""The inner loop of every matrix product: a few rows by 64 columns, held in vector registers.

Written as compiler intrinsics since no array notation reaches the CPU's dot-product instruction:
`vpdpbusd` of AVX512-VNNI and AVX-VNNI multiplies 64 pairs of bytes and adds them to 16 sums at
once. Elsewhere the same is said in portable vector code, and gives the same integers.

A tile of R rows is the same arithmetic for each of them as a tile of one: every element of the
result is one sum over k = 0 … K − 1 in that order, so a row's bits never depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

COLUMNS = 64
"""Of one tile; packed matrices are padded to a multiple."""

ROWS = 4
"""At most, of one tile: with 64 columns 16 registers of sums, enough to keep two units busy."""

GROUP = 4
"""Bytes that one dot-product instruction sums into one number."""

_LANES = 16
_BLOCKS = COLUMNS // _LANES

_I8, _I32, _I64, _F32 = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()
_BYTES = ir.VectorType(_I8, COLUMNS)
_INTS = ir.VectorType(_I32, _LANES)
_FLOATS = ir.VectorType(_F32, _LANES)

Tile = Callable[..., None]


def _dot_instruction() -> str | None:
    features = llvm.get_host_cpu_features()
    if features.get("avx512vnni") and features.get("avx512vl"):
        return "512"
    if features.get("avxvnni"):
        return "256"
    return None


DOT_INSTRUCTION = _dot_instruction()
"""Width in bits of `vpdpbusd` here, None without it."""


class _Emitter:
    """The few vector idioms that both kinds of tile are made of."""

    def __init__(self, context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        self.b = builder
        self._context = context
        self._types = signature.args
        self._arguments = arguments

    def pointer(self, index: int) -> Any:
        """Where the data of an array argument begins."""
        array = self._context.make_array(self._types[index])
        return array(self._context, self.b, self._arguments[index]).data

    def at(self, pointer: Any, offset: Any) -> Any:
        return self.b.gep(pointer, [offset])

    def load(self, pointer: Any, vector: Any) -> Any:
        return self.b.load(self.b.bitcast(pointer, vector.as_pointer()), align=1)

    def store(self, value: Any, pointer: Any) -> None:
        self.b.store(value, self.b.bitcast(pointer, value.type.as_pointer()), align=1)

    def splat(self, scalar: Any) -> Any:
        """The scalar in all 16 lanes."""
        vector = ir.VectorType(scalar.type, _LANES)
        undefined = ir.Constant(vector, ir.Undefined)
        first = self.b.insert_element(undefined, scalar, _I32(0))
        return self.b.shuffle_vector(first, undefined, ir.Constant(_INTS, None))

    def fused_multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
        function = _declare(self.b.module, kind, "llvm.fma.v16f32")
        return self.b.call(function, [x, y, z])

    def sums(self, n_rows: int, n_steps: Any, vector: Any, step: Callable[..., Any]) -> Any:
        """Loop k = 0 … n_steps − 1: sums[row][block] = step(k)(row, block, sums[row][block])."""
        b = self.b
        before, body = b.block, b.append_basic_block("sum")
        after = b.append_basic_block("summed")
        b.branch(body)
        b.position_at_end(body)
        k = b.phi(_I64)
        k.add_incoming(_I64(0), before)
        held = [[b.phi(vector) for _ in range(_BLOCKS)] for _ in range(n_rows)]
        added = step(k, held)
        following = b.add(k, _I64(1))
        k.add_incoming(following, body)
        for row, row_added in zip(held, added, strict=True):
            for phi, value in zip(row, row_added, strict=True):
                phi.add_incoming(ir.Constant(vector, None), before)
                phi.add_incoming(value, body)
        b.cbranch(b.icmp_signed("<", following, n_steps), body, after)
        b.position_at_end(after)
        return added

    def finish(self, value: Any, column_bias: Any, accumulate: bool, floor: Any, to: Any) -> None:
        """Add the bias, or bias and what is there; lift to the floor (NaN stays NaN); store."""
        b = self.b
        value = b.fadd(value, column_bias)
        if accumulate:
            value = b.fadd(value, self.load(to, _FLOATS))
        below = b.fcmp_ordered("<", value, floor)
        self.store(b.select(below, floor, value), to)

    def dot(self, sums: Any, weights: Any, activations: Any) -> Any:
        """16 sums + the dot products of 16 × 4 unsigned with 16 × 4 signed bytes."""
        b = self.b
        if DOT_INSTRUCTION == "512":
            kind = ir.FunctionType(_INTS, [_INTS, _BYTES, _BYTES])
            function = _declare(b.module, kind, "llvm.x86.avx512.vpdpbusd.512")
            return b.call(function, [sums, weights, activations])
        if DOT_INSTRUCTION == "256":
            return self._dot_in_halves(sums, weights, activations)
        return self._portable_dot(sums, weights, activations)

    def _dot_in_halves(self, sums: Any, weights: Any, activations: Any) -> Any:
        b = self.b
        ints, bytes_ = ir.VectorType(_I32, _LANES // 2), ir.VectorType(_I8, COLUMNS // 2)
        function = _declare(
            b.module, ir.FunctionType(ints, [ints, bytes_, bytes_]), "llvm.x86.avx512.vpdpbusd.256"
        )
        halves = []
        for half in range(2):
            parts = [
                b.shuffle_vector(x, x, _places(range(half * n // 2, (half + 1) * n // 2)))
                for x, n in ((sums, _LANES), (weights, COLUMNS), (activations, COLUMNS))
            ]
            halves.append(b.call(function, parts))
        return b.shuffle_vector(*halves, _places(range(_LANES)))

    def _portable_dot(self, sums: Any, weights: Any, activations: Any) -> Any:
        b = self.b
        for byte in range(GROUP):
            places = _places(range(byte, COLUMNS, GROUP))
            weight = b.zext(b.shuffle_vector(weights, weights, places), _INTS)
            activation = b.sext(b.shuffle_vector(activations, activations, places), _INTS)
            sums = b.add(sums, b.mul(weight, activation))
        return sums


def _places(indices: range) -> Any:
    return ir.Constant(ir.VectorType(_I32, len(indices)), list(indices))


def _declare(module: Any, kind: Any, name: str) -> Any:
    found = module.globals.get(name)
    return found or ir.Function(module, kind, name)


def _int8_tile(n_rows: int, accumulate: bool) -> Tile:
    @intrinsic  # type: ignore[untyped-decorator]
    def tile(
        typing_context: Any, x: Any, row_scale: Any, row_sum: Any, row: Any, width: Any, weight: Any,
        weight_at: Any, scale: Any, bias: Any, column: Any, floor: Any, out: Any, out_at: Any,
        stride: Any,
    ) -> Any:  # fmt: skip
        """out[row + i, column + j] from rows of signed and columns of unsigned bytes."""

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            emit = _Emitter(context, b, signature, arguments)
            x_at, scales_at, row_sums_at = (emit.pointer(index) for index in (0, 1, 2))
            weights_at, column_scales_at, biases_at = (emit.pointer(index) for index in (5, 7, 8))
            first, n_bytes = arguments[3], arguments[4]
            from_weights = emit.at(b.bitcast(weights_at, _I8.as_pointer()), arguments[6])
            first_column, lowest = arguments[9], emit.splat(arguments[10])
            to, out_stride = emit.at(emit.pointer(11), arguments[12]), arguments[13]
            rows = [b.add(first, _I64(i)) for i in range(n_rows)]
            from_rows = [
                emit.at(b.bitcast(x_at, _I8.as_pointer()), b.mul(row, n_bytes)) for row in rows
            ]

            def step(k: Any, sums: Any) -> Any:
                here = b.mul(k, _I64(GROUP * COLUMNS))
                weights = [
                    emit.load(emit.at(from_weights, b.add(here, _I64(COLUMNS * j))), _BYTES)
                    for j in range(_BLOCKS)
                ]
                group = b.mul(k, _I64(GROUP))
                added = []
                for from_row, row_sums in zip(from_rows, sums, strict=True):
                    place = b.bitcast(emit.at(from_row, group), _I32.as_pointer())
                    four = emit.splat(b.load(place, align=1))
                    activations = b.bitcast(four, _BYTES)
                    added.append(
                        [
                            emit.dot(one, w, activations)
                            for one, w in zip(row_sums, weights, strict=True)
                        ]
                    )
                return added

            sums = emit.sums(n_rows, b.sdiv(n_bytes, _I64(GROUP)), _INTS, step)
            for j in range(_BLOCKS):
                at_column = b.add(first_column, _I64(_LANES * j))
                column_scale = emit.load(emit.at(column_scales_at, at_column), _FLOATS)
                column_bias = emit.load(emit.at(biases_at, at_column), _FLOATS)
                for i, row in enumerate(rows):
                    # Weights are stored + 128, to be unsigned: take 128 Σ x out again.
                    excess = emit.splat(b.load(emit.at(row_sums_at, row)))
                    exact = b.sitofp(b.sub(sums[i][j], excess), _FLOATS)
                    scale = b.fmul(emit.splat(b.load(emit.at(scales_at, row))), column_scale)
                    place = emit.at(to, b.add(b.mul(out_stride, _I64(i)), _I64(_LANES * j)))
                    emit.finish(b.fmul(exact, scale), column_bias, accumulate, lowest, place)
            return context.get_dummy_value()

        return types.void(
            x, row_scale, row_sum, types.int64, types.int64, weight, types.int64, scale, bias,
            types.int64, types.float32, out, types.int64, types.int64,
        ), generate  # fmt: skip

    return tile  # type: ignore[no-any-return]


def _float32_tile(n_rows: int, accumulate: bool) -> Tile:
    @intrinsic  # type: ignore[untyped-decorator]
    def tile(
        typing_context: Any, x: Any, x_at: Any, x_stride: Any, weight: Any, weight_at: Any,
        width: Any, bias: Any, column: Any, floor: Any, out: Any, out_at: Any, stride: Any,
    ) -> Any:  # fmt: skip
        """out[i, column + j] from rows and columns of float32."""

        def generate(context: Any, b: Any, signature: Any, arguments: Any) -> Any:
            emit = _Emitter(context, b, signature, arguments)
            first_row, row_stride = emit.at(emit.pointer(0), arguments[1]), arguments[2]
            from_weights, n_steps = emit.at(emit.pointer(3), arguments[4]), arguments[5]
            biases_at, first_column = emit.pointer(6), arguments[7]
            lowest = emit.splat(arguments[8])
            to, out_stride = emit.at(emit.pointer(9), arguments[10]), arguments[11]
            from_rows = [emit.at(first_row, b.mul(row_stride, _I64(i))) for i in range(n_rows)]

            def step(k: Any, sums: Any) -> Any:
                here = b.mul(k, _I64(COLUMNS))
                weights = [
                    emit.load(emit.at(from_weights, b.add(here, _I64(_LANES * j))), _FLOATS)
                    for j in range(_BLOCKS)
                ]
                added = []
                for from_row, row_sums in zip(from_rows, sums, strict=True):
                    activation = emit.splat(b.load(emit.at(from_row, k)))
                    added.append(
                        [
                            emit.fused_multiply_add(activation, w, one)
                            for one, w in zip(row_sums, weights, strict=True)
                        ]
                    )
                return added

            sums = emit.sums(n_rows, n_steps, _FLOATS, step)
            for j in range(_BLOCKS):
                at_column = b.add(first_column, _I64(_LANES * j))
                column_bias = emit.load(emit.at(biases_at, at_column), _FLOATS)
                for i in range(n_rows):
                    place = emit.at(to, b.add(b.mul(out_stride, _I64(i)), _I64(_LANES * j)))
                    emit.finish(sums[i][j], column_bias, accumulate, lowest, place)
            return context.get_dummy_value()

        return types.void(
            x, types.int64, types.int64, weight, types.int64, types.int64, bias, types.int64,
            types.float32, out, types.int64, types.int64,
        ), generate  # fmt: skip

    return tile  # type: ignore[no-any-return]


INT8_TILES = tuple(_int8_tile(n, accumulate=False) for n in range(1, ROWS + 1))
INT8_ADDING_TILES = tuple(_int8_tile(n, accumulate=True) for n in range(1, ROWS + 1))
FLOAT32_TILES = tuple(_float32_tile(n, accumulate=False) for n in range(1, ROWS + 1))
FLOAT32_ADDING_TILES = tuple(_float32_tile(n, accumulate=True) for n in range(1, ROWS + 1))
