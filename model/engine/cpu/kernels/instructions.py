"""The instructions that multiply bytes, and how each wants weights and activations laid out.

The target that kernels are compiled for decides which one is used. All of them compute the same
whole numbers.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

import numpy as np

from model.engine.cpu.kernels.target import TARGET, features_of

LANES = 16
"""Numbers of 32 bits in a vector: one register of AVX-512, two of AVX2, four of NEON."""

COLUMNS = 64
"""Columns of a panel; packed matrices are padded to a multiple."""

ROWS = 4
"""Maximum rows of a tile: of AVX-512's and NEON's 32 registers it sums in 16, of AVX2's 16 in 8,
enough to keep two units busy."""


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


def _features() -> set[str]:
    """Return the features that kernels are compiled for."""
    if TARGET:
        return set(TARGET.features)
    from numba.core.registry import cpu_target

    return features_of(*cpu_target.target_context.codegen().magic_tuple())


INSTRUCTION = best_instruction(_features())
"""The one that kernels are compiled with."""

TILE_COLUMNS = INSTRUCTION.columns
"""Columns of a tile, which a panel has one or four times."""

GROUP, OFFSET = INSTRUCTION.group, INSTRUCTION.offset

LARGEST = 127
"""The largest magnitude of a code."""

SMALLEST = np.float32(1e-30)
"""Rows, and columns of weights, with no larger value count as zero: inverses could overflow."""
