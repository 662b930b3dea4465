"""Idioms of LLVM's intermediate code that the intrinsics share, and what it is compiled for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import config

from model.engine.cpu.kernels.instructions import LANES
from model.engine.cpu.kernels.target import TARGET

if TARGET:  # before the first kernel, which makes numba's compiler
    config.CPU_NAME, config.CPU_FEATURES = TARGET.cpu, TARGET.options

INT8, INT32, INT64, FLOAT = ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.FloatType()
INTS = ir.VectorType(INT32, LANES)
FLOATS = ir.VectorType(FLOAT, LANES)


def declare(module: Any, kind: Any, name: str) -> Any:
    """An intrinsic function of LLVM, by its full name."""
    return module.globals.get(name) or ir.Function(module, kind, name)


def splat(builder: Any, scalar: Any) -> Any:
    """The scalar in all lanes."""
    undefined = ir.Constant(ir.VectorType(scalar.type, LANES), ir.Undefined)
    first = builder.insert_element(undefined, scalar, INT32(0))
    return builder.shuffle_vector(first, undefined, ir.Constant(INTS, None))


def loop(
    builder: Any, start: Any, end: Any, step: int, values: Sequence[Any],
    turn: Callable[[Any, list[Any]], Sequence[Any]],
) -> list[Any]:  # fmt: skip
    """`values = turn(i, values)` for i in range(start, end, step); values stay in registers."""
    b = builder
    before, test = b.block, b.append_basic_block("test")
    body, after = b.append_basic_block("turn"), b.append_basic_block("after")
    b.branch(test)
    b.position_at_end(test)
    i = b.phi(INT64)
    i.add_incoming(start, before)
    held = [b.phi(value.type) for value in values]
    for phi, value in zip(held, values, strict=True):
        phi.add_incoming(value, before)
    b.cbranch(b.icmp_signed("<", i, end), body, after)
    b.position_at_end(body)
    for phi, value in zip(held, turn(i, held), strict=True):
        phi.add_incoming(value, b.block)
    i.add_incoming(b.add(i, INT64(step)), b.block)
    b.branch(test)
    b.position_at_end(after)
    return held


def data(context: Any, builder: Any, signature: Any, arguments: Any, index: int) -> Any:
    """A pointer to an array argument's elements, from the offset that is the next argument."""
    array = context.make_array(signature.args[index])(context, builder, arguments[index])
    return builder.gep(array.data, [arguments[index + 1]])


def load(builder: Any, pointer: Any, vector: Any = FLOATS) -> Any:
    """A vector from anywhere in memory."""
    return builder.load(builder.bitcast(pointer, vector.as_pointer()), align=1)


def store(builder: Any, value: Any, pointer: Any) -> None:
    """A vector to anywhere in memory."""
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=1)


def fetch(builder: Any, pointer: Any) -> None:
    """Prefetch the cache line at a pointer, which may be invalid, into the second-level cache."""
    pointer = builder.bitcast(pointer, INT8.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, INT32, INT32, INT32])
    read, near, of_data = INT32(0), INT32(2), INT32(1)
    builder.call(declare(builder.module, kind, "llvm.prefetch.p0"), [pointer, read, near, of_data])


def multiply_add(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x y + z, rounded once."""
    kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
    return builder.call(declare(builder.module, kind, "llvm.fma.v16f32"), [x, y, z])


def reduce(builder: Any, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
    """One number from the 16 lanes, by combining halves."""
    half = LANES
    while half > 1:
        half //= 2
        other = [(lane + half) % LANES for lane in range(LANES)]
        swapped = builder.shuffle_vector(vector, vector, ir.Constant(INTS, other))
        vector = combine(vector, swapped)
    return builder.extract_element(vector, INT32(0))


def higher(builder: Any, x: Any, y: Any) -> Any:
    """The larger of each two numbers; x where y is NaN."""
    return builder.select(builder.fcmp_ordered(">", y, x), y, x)


def sum_each(builder: Any, vectors: Sequence[Any]) -> Any:
    """16 vectors → one, of which lane i is the sum of vector i, in a butterfly of halves."""
    # Each stage appends the sums of the second half's vectors to those of the first: bits reverse.
    vectors = [vectors[int(f"{i:04b}"[::-1], 2)] for i in range(LANES)]
    half = LANES
    while half > 1:
        half //= 2
        low = [lane for lane in range(2 * LANES) if lane % (2 * half) < half]
        high = [lane + half for lane in low]
        n = len(vectors) // 2
        vectors = [
            builder.fadd(
                builder.shuffle_vector(x, y, ir.Constant(INTS, low)),
                builder.shuffle_vector(x, y, ir.Constant(INTS, high)),
            )
            for x, y in zip(vectors[:n], vectors[n:], strict=True)
        ]
    return vectors[0]


_LOG2_E = math.log2(math.e)
_LN2_HIGH = 0.693359375
_LN2_LOW = math.log(2) - _LN2_HIGH
_LOWEST = -87.0
_DEGREE = 6


def exponential(builder: Any, x: Any) -> Any:
    """e^x of 16 numbers ≤ 0, to 3 units in the last place; 0 below −87, NaN for NaN and ∞.

    e^x = 2^n e^r with |r| ≤ ln 2 / 2, where the Taylor series to r⁶ is right to 1.5 · 10⁻⁷.
    """
    b = builder

    def constant(value: float) -> Any:
        return splat(b, FLOAT(value))

    lowest = constant(_LOWEST)
    below = b.fcmp_ordered("<", x, lowest)
    bounded = b.select(below, lowest, x)
    rint = declare(b.module, ir.FunctionType(FLOATS, [FLOATS]), "llvm.rint.v16f32")
    n = b.call(rint, [b.fmul(bounded, constant(_LOG2_E))])
    r = multiply_add(b, n, constant(-_LN2_HIGH), bounded)
    r = multiply_add(b, n, constant(-_LN2_LOW), r)
    series = constant(1 / math.factorial(_DEGREE))
    for power in range(_DEGREE - 1, -1, -1):
        series = multiply_add(b, series, r, constant(1 / math.factorial(power)))
    # Adding n to the exponent's bits multiplies by 2^n: the series is within 0.7 … 1.5.
    power_bits = b.shl(b.fptosi(n, INTS), splat(b, INT32(23)))
    scaled = b.bitcast(b.add(b.bitcast(series, INTS), power_bits), FLOATS)
    # This changes the bits of NaN, which must come from the series itself.
    scaled = b.select(b.fcmp_unordered("uno", series, series), series, scaled)
    return b.select(below, ir.Constant(FLOATS, None), scaled)
