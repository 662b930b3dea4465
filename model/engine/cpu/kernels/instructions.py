"""The instructions that multiply bytes, and how each wants weights and activations laid out.

The target that kernels are compiled for decides which one is used. All of them compute the same
whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core.registry import cpu_target

from model.engine.cpu.kernels.llvm import INT8, INT32, INT64, INTS, LANES, declare, load, splat
from model.engine.cpu.kernels.target import features_of


class Instruction(NamedTuple):
    """An instruction that multiplies groups of numbers and adds the sum of each group.

    name       its mnemonic and the registers that it works on
    intrinsic  LLVM's function; None for portable code
    registers  registers that hold 16 sums
    columns    columns of a tile, so that its sums fit the registers beside the other operands
    group      inputs that one sum takes; packed weights have those of a column side by side
    offset     added to weights, 128 where one factor is taken as unsigned
    bits       width of a factor; weights are widened to it when they are loaded
    rows       rows of activations that it multiplies at once
    """

    name: str
    intrinsic: str | None
    registers: int
    columns: int
    group: int
    offset: int = 0
    bits: int = 8
    rows: int = 1

    @property
    def blocks(self) -> int:
        """Vectors of 16 sums for the columns of a tile by `rows` rows."""
        return self.columns * self.rows // LANES

    def n_sums(self, n_rows: int) -> int:
        """Vectors of 16 sums in a tile."""
        return -(-n_rows // self.rows) * self.blocks

    def add_products(
        self, b: Any, sums: Sequence[Any], weights: Any, rows: Sequence[Any]
    ) -> list[Any]:
        """Add the products of one group of inputs: `weights` points at it, `rows` at each row's."""
        n = LANES * self.group // self.rows
        bytes_, factors = ir.VectorType(INT8, n), ir.VectorType(ir.IntType(self.bits), n)
        blocks = [load(b, b.gep(weights, [INT64(n * j)]), bytes_) for j in range(self.blocks)]
        if self.bits > INT8.width:
            blocks = [b.sext(block, factors) for block in blocks]
        added: list[Any] = []
        for first in range(0, len(rows), self.rows):
            repeated = b.bitcast(self._repeated(b, rows[first : first + self.rows]), factors)
            for block in blocks:
                added.append(self._add(b, sums[len(added)], block, repeated))
        return added

    def by_rows(self, b: Any, sums: Sequence[Any], n_rows: int) -> list[Any]:
        """The sums in order: 16 columns, the next 16, … of the first row, then of the next row."""
        if self.rows == 1:
            return list(sums)
        # Four sums are two columns of one row, then the same columns of the next one.
        ordered = []
        for row in range(n_rows):
            lanes = [4 * (i // 2) + 2 * (row % 2) + i % 2 for i in range(LANES)]
            pair = sums[row // 2 * self.blocks : (row // 2 + 1) * self.blocks]
            ordered.append(b.shuffle_vector(*pair, _lanes(lanes)))
        return ordered

    def _repeated(self, b: Any, rows: Sequence[Any]) -> Any:
        """A group of inputs of one row, or of two, as often as a vector has room for it."""
        group = ir.IntType(self.group * self.bits)
        loaded = [b.load(b.bitcast(row, group.as_pointer()), align=1) for row in rows]
        if self.rows == 1:
            return splat(b, loaded[0])
        both = ir.Constant(ir.VectorType(group, 2), None)
        for index, one in enumerate(loaded):
            both = b.insert_element(both, one, INT32(index))
        return b.shuffle_vector(both, both, _lanes([0, 1] * 4))

    def _add(self, b: Any, sums: Any, weights: Any, activations: Any) -> Any:
        if self.intrinsic is None:  # one product a sum, such as `smlal` of every ARM64
            return b.add(sums, b.mul(b.sext(weights, INTS), b.sext(activations, INTS)))
        results = []
        for part in range(self.registers):
            ints, w, x = (_part(b, v, part, self.registers) for v in (sums, weights, activations))
            # Of multiplied words the sum is added by an instruction of its own.
            operands = [ints, w, x] if self.bits == INT8.width else [w, x]
            if self.rows > 1:
                operands = [ints, x, w]
            kind = ir.FunctionType(ints.type, [one.type for one in operands])
            result = b.call(declare(b.module, kind, self.intrinsic), operands)
            results.append(result if self.bits == INT8.width else b.add(ints, result))
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


PORTABLE = Instruction("portable", None, registers=4, columns=16, group=1, bits=16)

INSTRUCTIONS = (
    (
        ("avx512vnni", "avx512vl"),
        Instruction("vpdpbusd zmm", "llvm.x86.avx512.vpdpbusd.512", 1, 64, 4, offset=128),
    ),
    (
        ("avxvnni",),
        Instruction("vpdpbusd ymm", "llvm.x86.avx512.vpdpbusd.256", 2, 16, 4, offset=128),
    ),
    # `vpmaddubsw` multiplies bytes, but its sums saturate at 16 bits.
    (
        ("avx512bw",),
        Instruction("vpmaddwd zmm", "llvm.x86.avx512.pmaddw.d.512", 1, 64, 2, bits=16),
    ),
    (("avx2",), Instruction("vpmaddwd ymm", "llvm.x86.avx2.pmadd.wd", 2, 16, 2, bits=16)),
    (("sse4.1",), Instruction("pmaddwd xmm", "llvm.x86.sse2.pmadd.wd", 4, 16, 2, bits=16)),
    (("i8mm",), Instruction("smmla", "llvm.aarch64.neon.smmla.v4i32.v16i8", 4, 16, 8, rows=2)),
    (("dotprod",), Instruction("sdot", "llvm.aarch64.neon.sdot.v4i32.v16i8", 4, 16, 4)),
)
"""The features that each needs, the best first."""


def best_instruction(features: Set[str]) -> Instruction:
    """Choose by the features of a target, as LLVM calls them."""
    found = (one for needed, one in INSTRUCTIONS if features >= set(needed))
    return next(found, PORTABLE)


INSTRUCTION = best_instruction(features_of(*cpu_target.target_context.codegen().magic_tuple()))
"""The one that kernels are compiled with."""
