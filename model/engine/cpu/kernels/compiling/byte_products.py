"""LLVM's code of the instructions that multiply bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from model.engine.cpu.kernels.compiling.llvm import INT8, INT32, INT64, INTS, declare, load, splat
from model.engine.cpu.kernels.instructions import LANES, Instruction


def add_products(
    one: Instruction, b: Any, sums: Sequence[Any], weights: Any, rows: Sequence[Any]
) -> list[Any]:
    """Add the products of one group of inputs: `weights` points at it, `rows` at each row's."""
    n = LANES * one.group // one.rows
    bytes_, factors = ir.VectorType(INT8, n), ir.VectorType(ir.IntType(one.bits), n)
    blocks = [load(b, b.gep(weights, [INT64(n * j)]), bytes_) for j in range(one.blocks)]
    if one.bits > INT8.width:
        blocks = [b.sext(block, factors) for block in blocks]
    added: list[Any] = []
    for first in range(0, len(rows), one.rows):
        repeated = b.bitcast(_repeated(one, b, rows[first : first + one.rows]), factors)
        for block in blocks:
            added.append(_add(one, b, sums[len(added)], block, repeated))
    return added


def by_rows(one: Instruction, b: Any, sums: Sequence[Any], n_rows: int) -> list[Any]:
    """The sums in order: 16 columns, the next 16, … of the first row, then of the next row."""
    if one.rows == 1:
        return list(sums)
    # Four sums are two columns of one row, then the same columns of the next one.
    ordered = []
    for row in range(n_rows):
        lanes = [4 * (i // 2) + 2 * (row % 2) + i % 2 for i in range(LANES)]
        pair = sums[row // 2 * one.blocks : (row // 2 + 1) * one.blocks]
        ordered.append(b.shuffle_vector(*pair, _lanes(lanes)))
    return ordered


def _repeated(one: Instruction, b: Any, rows: Sequence[Any]) -> Any:
    """A group of inputs of one row, or of two, as often as a vector has room for it."""
    group = ir.IntType(one.group * one.bits)
    loaded = [b.load(b.bitcast(row, group.as_pointer()), align=1) for row in rows]
    if one.rows == 1:
        return splat(b, loaded[0])
    both = ir.Constant(ir.VectorType(group, 2), None)
    for index, value in enumerate(loaded):
        both = b.insert_element(both, value, INT32(index))
    return b.shuffle_vector(both, both, _lanes([0, 1] * 4))


def _add(one: Instruction, b: Any, sums: Any, weights: Any, activations: Any) -> Any:
    if one.intrinsic is None:  # one product a sum, such as `smlal` of every ARM64
        return b.add(sums, b.mul(b.sext(weights, INTS), b.sext(activations, INTS)))
    results = []
    for part in range(one.registers):
        ints, w, x = (_part(b, v, part, one.registers) for v in (sums, weights, activations))
        # Products of words are added to the sums by a separate instruction.
        operands = [ints, w, x] if one.bits == INT8.width else [w, x]
        if one.rows > 1:
            operands = [ints, x, w]
        kind = ir.FunctionType(ints.type, [operand.type for operand in operands])
        result = b.call(declare(b.module, kind, one.intrinsic), operands)
        results.append(result if one.bits == INT8.width else b.add(ints, result))
    return _joined(b, results)


def _part(b: Any, vector: Any, part: int, n_parts: int) -> Any:
    if n_parts == 1:
        return vector
    n = vector.type.count // n_parts
    return b.shuffle_vector(vector, vector, _lanes(range(part * n, (part + 1) * n)))


def _joined(b: Any, vectors: Sequence[Any]) -> Any:
    while len(vectors) > 1:
        n = 2 * vectors[0].type.count
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [b.shuffle_vector(x, y, _lanes(range(n))) for x, y in pairs]
    return vectors[0]


def _lanes(indices: Sequence[int]) -> Any:
    return ir.Constant(ir.VectorType(INT32, len(indices)), list(indices))
