"""§3.1, figure 1 right: one position of every living hypothesis of every sentence in flight."""

from __future__ import annotations

from typing import NamedTuple

from model.engine.cpu.forward.attention import attend, record_weights
from model.engine.cpu.forward.encoder import (
    after_sublayer,
    before_sublayer,
    embed,
    encode,
    feed_forward,
)
from model.engine.cpu.forward.recurrence import recur
from model.engine.cpu.forward.rules import NO_TOKEN
from model.engine.cpu.forward.slots import MAX_BEAM, PAGE, Pages, Slots, take_page
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.elementary import normalise
from model.engine.cpu.kernels.flat import get, put
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, prepare, project, project_prepared
from model.engine.cpu.kernels.types import Floats, Ints


class Newcomers(NamedTuple):
    """Sentences that join: the ids of all in a row, the bounds of each [n + 1], their slots [n]."""

    ids: Ints
    bounds: Ints
    slots: Ints


@kernel
def join(
    weights: Weights, newcomers: Newcomers, slots: Slots, pages: Pages, work: Workspace
) -> None:
    """Encode them, as many at once as the workspace has rows for."""
    bounds, first = newcomers.bounds, 0
    while first < len(newcomers.slots):
        behind = first + 1
        while behind < len(newcomers.slots) and bounds[behind + 1] - bounds[first] <= len(work.x):
            behind += 1
        _join_at_once(
            weights, newcomers.ids[bounds[first] : bounds[behind]],
            bounds[first : behind + 1] - bounds[first], newcomers.slots[first:behind], slots, pages,
            work,
        )  # fmt: skip
        first = behind


@kernel
def _join_at_once(
    weights: Weights, ids: Ints, bounds: Ints,
    newcomers: Ints, slots: Slots, pages: Pages, work: Workspace,
) -> None:  # fmt: skip
    """Encode sentences and lay the memory's keys and values into their slots' positions."""
    encode(weights, ids, bounds, work, work.no_record)
    decoder, n_rows = weights.decoder, len(ids)
    width, n_positions = weights.shape.d_model, len(pages.token)
    prepare(work.x, n_rows, decoder.memory_kv, work.scratch)
    for layer in range(decoder.n_layers):
        for part, out in enumerate((pages.keys, pages.values)):
            project_prepared(work.x, n_rows, decoder.memory_kv, 2 * layer + part, NO_FLOOR, False,
                             work.scratch, work.keys)  # fmt: skip
            for i in range(len(newcomers)):
                for row in range(bounds[i], bounds[i + 1]):
                    position = slots.source[newcomers[i], row - bounds[i]]
                    for column in range(width):
                        out[layer * n_positions + position, column] = work.keys[row, column]


@kernel
def gather(weights: Weights, slots: Slots, pages: Pages, work: Workspace) -> int:
    """A row for every living hypothesis, with a position of its own and what it is fed in work.x.

    Returns how many rows there are.
    """
    row = 0
    for slot in range(len(slots.active)):
        if slots.active[slot]:
            row = _gather_slot(slot, row, weights, slots, pages, work)
    return row


@kernel
def _gather_slot(
    slot: int, row: int, weights: Weights, slots: Slots, pages: Pages, work: Workspace
) -> int:
    """As `gather`, of one slot, from a row on; returns the row behind its last."""
    length = slots.length[slot]
    if length % PAGE == 0:
        for lane in range(MAX_BEAM):
            slots.page[slot, lane] = -1
    for lane in range(slots.n_live[slot]):
        if slots.page[slot, lane] < 0:
            slots.page[slot, lane] = take_page(slots, slot, pages)
        position = slots.page[slot, lane] * PAGE + length % PAGE
        slots.path[slot * MAX_BEAM + lane, length] = position
        token = slots.latest[slot, lane]
        pages.token[position] = token
        pages.log_prob[position] = slots.latest_log_prob[slot, lane]
        embed(weights.target_embedding, token, weights.positions, length, weights.shape,
              work.x, row)  # fmt: skip
        work.row_slot[row] = slot
        work.row_lane[row] = lane
        row += 1
    return row


@kernel
def begin(
    weights: Weights, newcomers: Newcomers, slots: Slots, pages: Pages, work: Workspace
) -> None:
    """Feed the start symbol to newcomers whose first token is given, so that they have it.

    It needs no prediction, which with a vocabulary of many languages is most of a step.
    """
    n_rows = 0
    for slot in newcomers.slots:
        if slots.rule[slot].first_id != NO_TOKEN and slots.limit[slot] > 1:
            n_rows = _gather_slot(slot, n_rows, weights, slots, pages, work)
    if n_rows == 0:
        return
    decode(weights, n_rows, slots, pages, work, work.no_record, work.no_record)
    for row in range(n_rows):
        slot = work.row_slot[row]
        slots.length[slot] = 1
        slots.latest[slot, 0] = slots.rule[slot].first_id
        slots.latest_log_prob[slot, 0] = 0


@kernel
def decode(
    weights: Weights, n_rows: int, slots: Slots, pages: Pages, work: Workspace,
    self_record: Floats, cross_record: Floats,
) -> None:  # fmt: skip
    """work.x: what `gather` put there → the decoder's output, ready for the output projection.

    The records [layers, H, T, ≥ S] get the weights of row 0 at its length, or are empty.
    """
    shape, decoder = weights.shape, weights.decoder
    for layer in range(decoder.n_layers):
        source = before_sublayer(decoder.self_norm, layer, n_rows, shape, work)
        if decoder.is_recurrent:
            recur(source, decoder, layer, n_rows, slots, pages, work)
        else:
            prepare(source, n_rows, decoder.qkv, work.scratch)
            for part, out in enumerate((work.self_query, work.keys, work.values)):
                project_prepared(source, n_rows, decoder.qkv, 3 * layer + part, NO_FLOOR, False,
                                 work.scratch, out)  # fmt: skip
            _attend_self(decoder.n_heads, layer, n_rows, slots, pages, work, self_record)
            project(work.context, n_rows, decoder.self_output, layer, NO_FLOOR, True,
                    work.scratch, work.x)  # fmt: skip
        after_sublayer(decoder.self_norm, layer, n_rows, shape, work)
        source = before_sublayer(decoder.cross_norm, layer, n_rows, shape, work)
        project(source, n_rows, decoder.cross_query, layer, NO_FLOOR, False, work.scratch,
                work.query)  # fmt: skip
        _attend_memory(decoder.n_heads, layer, n_rows, slots, pages, work, cross_record)
        project(work.context, n_rows, decoder.cross_output, layer, NO_FLOOR, True, work.scratch,
                work.x)  # fmt: skip
        after_sublayer(decoder.cross_norm, layer, n_rows, shape, work)
        source = before_sublayer(decoder.feed_forward_norm, layer, n_rows, shape, work)
        feed_forward(source, n_rows, decoder.w_1, decoder.w_2, layer, shape, work)
        after_sublayer(decoder.feed_forward_norm, layer, n_rows, shape, work)
    if shape.pre_norm:
        normalise(work.x, n_rows, decoder.norm, 0, work.x)


@kernel
def _attend_self(
    n_heads: int, layer: int, n_rows: int, slots: Slots, pages: Pages, work: Workspace,
    record: Floats,
) -> None:  # fmt: skip
    """Store each row's keys and values at its position, then attend over its path."""
    n_positions, width = len(pages.token), pages.keys.shape[1]
    stride, base = work.self_query.shape[1], layer * n_positions * width
    longest = slots.path.shape[1]
    for row in range(n_rows):
        slot, lane = work.row_slot[row], work.row_lane[row]
        length = slots.length[slot]
        path_at = (slot * MAX_BEAM + lane) * longest
        to = base + get(slots.path, path_at + length) * width
        for i in range(width):
            put(pages.keys, to + i, get(work.keys, row * stride + i))
            put(pages.values, to + i, get(work.values, row * stride + i))
        attend(n_heads, width, work.self_query, row * stride, pages.keys, pages.values, base, width,
               slots.path, path_at, length + 1, work.attention, work.context,
               row * stride)  # fmt: skip
        if len(record):
            record_weights(n_heads, length + 1, work.attention, record, layer, length)


@kernel
def _attend_memory(
    n_heads: int, layer: int, n_rows: int, slots: Slots, pages: Pages, work: Workspace,
    record: Floats,
) -> None:  # fmt: skip
    """Each row over its sentence's source."""
    n_positions, width = len(pages.token), pages.keys.shape[1]
    stride, base = work.query.shape[1], layer * n_positions * width
    longest = slots.source.shape[1]
    for row in range(n_rows):
        slot = work.row_slot[row]
        n_source = slots.source_length[slot]
        attend(n_heads, width, work.query, row * stride, pages.keys, pages.values, base, width,
               slots.source, slot * longest, n_source, work.attention, work.context,
               row * stride)  # fmt: skip
        if len(record):
            record_weights(n_heads, n_source, work.attention, record, layer, slots.length[slot])
