"""The simpler simple recurrent unit of a decoder layer; see `model.transformer.ssru`.

The state after a token is stored at that token's position, like the values of self-attention. A
hypothesis continues from the state at the last position of its path, so reordering beams copies no
state.
"""

from __future__ import annotations

import numpy as np

from model.engine.cpu.forward.slots import MAX_BEAM, PAGE, Pages, Slots
from model.engine.cpu.forward.weights import Stack
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.arrays import Floats
from model.engine.cpu.kernels.intrinsics import exponentiate, get, prepare, put
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, project_prepared

_ZERO, _ONE = np.float32(0), np.float32(1)


@kernel
def recur(
    source: Floats, decoder: Stack, layer: int, n_rows: int, slots: Slots, pages: Pages,
    work: Workspace,
) -> None:  # fmt: skip
    """work.x += max(0, c_t) for each row, whose state c_t is stored at its position."""
    prepare(source, n_rows, decoder.qkv, work.scratch)
    for part, out in enumerate((work.values, work.keys)):
        project_prepared(source, n_rows, decoder.qkv, 2 * layer + part, NO_FLOOR, False,
                         work.scratch, out)  # fmt: skip
    width, stride = pages.values.shape[1], work.keys.shape[1]
    base = layer * PAGE * width
    longest = slots.path.shape[1]
    for row in range(n_rows):
        slot, lane = work.row_slot[row], work.row_lane[row]
        length = slots.length[slot]
        path_at = (slot * MAX_BEAM + lane) * longest + length
        to = base + get(slots.path, path_at) * width
        before = base + get(slots.path, path_at - 1) * width if length else to
        if not length:
            for i in range(width):
                put(pages.values, to + i, _ZERO)
        _update(row * stride, width, before, to, pages, work)


@kernel
def _update(at: int, width: int, before: int, to: int, pages: Pages, work: Workspace) -> None:
    """c_t = f c_(t−1) + (1 − f) x̃ from x̃ in work.values and W_f x + b_f in work.keys, at `at`.

    σ(z) is computed from e^−|z|, which cannot overflow.
    """
    for i in range(width):
        put(work.context, at + i, -abs(get(work.keys, at + i)))
    exponentiate(work.context, at, width, _ZERO)
    for i in range(width):
        power = get(work.context, at + i)
        forget = (power if get(work.keys, at + i) < _ZERO else _ONE) / (_ONE + power)
        candidate = get(work.values, at + i)
        cell = forget * get(pages.values, before + i) + (_ONE - forget) * candidate
        put(pages.values, to + i, cell)
        put(work.x, at + i, get(work.x, at + i) + (_ZERO if cell < _ZERO else cell))
