"""§3.1, figure 1 right: one position of every live hypothesis of every sentence in flight."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from model.engine.cpu.forward.attention import attend, record_weights
from model.engine.cpu.forward.encoder import (
    add_attention,
    add_feed_forward,
    after_sublayer,
    before_sublayer,
    embed,
    encode,
    project_attention,
)
from model.engine.cpu.forward.recurrence import recur
from model.engine.cpu.forward.shortlisted import copy_columns
from model.engine.cpu.forward.slots import MAX_BEAM, NO_TOKEN, PAGE, Pages, Slots, take_page
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.arrays import Floats, Ints
from model.engine.cpu.kernels.elementary import normalise
from model.engine.cpu.kernels.intrinsics import get, prepare, put
from model.engine.cpu.kernels.jit import kernel
from model.engine.cpu.kernels.linear import NO_FLOOR, project, project_prepared


class NewSentences(NamedTuple):
    """Sentences that join: their concatenated ids, the bounds of each [n + 1], their slots [n]."""

    ids: Ints
    bounds: Ints
    slots: Ints

    @classmethod
    def of(cls, sources: Sequence[Sequence[int]], slots: Sequence[int]) -> NewSentences:
        ids = np.array(list(itertools.chain.from_iterable(sources)), np.int64)
        bounds = np.array([0, *itertools.accumulate(map(len, sources))], np.int64)
        return cls(ids, bounds, np.array(slots, np.int64))


@kernel
def join(weights: Weights, new: NewSentences, slots: Slots, pages: Pages, work: Workspace) -> None:
    """Encode new sentences, as many at once as the workspace has rows for."""
    bounds, first = new.bounds, 0
    while first < len(new.slots):
        end = first + 1
        while end < len(new.slots) and bounds[end + 1] - bounds[first] <= len(work.x):
            end += 1
        _join_at_once(
            weights, new.ids[bounds[first] : bounds[end]], bounds[first : end + 1] - bounds[first],
            new.slots[first:end], slots, pages, work,
        )  # fmt: skip
        first = end


@kernel
def _join_at_once(
    weights: Weights, ids: Ints, bounds: Ints, slot_of: Ints, slots: Slots, pages: Pages,
    work: Workspace,
) -> None:  # fmt: skip
    """Encode sentences and store the memory's keys and values at their slots' positions."""
    encode(weights, ids, bounds, work, work.no_record)
    memory_kv, n_rows = weights.cross.memory_kv, len(ids)
    width = weights.shape.d_model
    prepare(work.x, n_rows, memory_kv, work.scratch)
    for layer in range(weights.decoder.n_layers):
        for part, out in enumerate((pages.keys, pages.values)):
            project_prepared(work.x, n_rows, memory_kv, 2 * layer + part, NO_FLOOR, False,
                             work.scratch, work.keys)  # fmt: skip
            for i in range(len(slot_of)):
                for row in range(bounds[i], bounds[i + 1]):
                    position = slots.source[slot_of[i], row - bounds[i]]
                    for column in range(width):
                        out[position + layer * PAGE, column] = work.keys[row, column]


@kernel
def gather(weights: Weights, slots: Slots, pages: Pages, work: Workspace) -> int:
    """Give every live hypothesis a row and a position, and embed its latest token in work.x.

    Sentences with a shortlist come last. Returns the number of rows.
    """
    row = 0
    for is_shortlisted in (False, True):
        for slot in range(len(slots.active)):
            if slots.active[slot] and (slots.columns[slot].n > 0) == is_shortlisted:
                row = _gather_slot(slot, row, weights, slots, pages, work)
    return row


@kernel
def _gather_slot(
    slot: int, row: int, weights: Weights, slots: Slots, pages: Pages, work: Workspace
) -> int:
    """As `gather`, for one slot, from a row on; returns the row after its last."""
    length = slots.length[slot]
    if length % PAGE == 0:
        for lane in range(MAX_BEAM):
            slots.page[slot, lane] = -1
    for lane in range(slots.n_live[slot]):
        if slots.page[slot, lane] < 0:
            slots.page[slot, lane] = take_page(slots, slot, pages)
        position = slots.page[slot, lane] * pages.rows + length % PAGE
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
def start(weights: Weights, new: NewSentences, slots: Slots, pages: Pages, work: Workspace) -> None:
    """Prepare the search of new sentences: the output layer of those with a shortlist.

    Feeds the start symbol to those whose first token is given, so that it is next. This needs no
    prediction, which with a vocabulary of many languages is most of a step.
    """
    n_rows = 0
    for slot in new.slots:
        if slots.columns[slot].n:
            copy_columns(weights, slots, slot)
    for slot in new.slots:
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
    """work.x from `gather` → the decoder's output, ready for the output projection.

    The records [layers, H, T, ≥ S] get the weights of row 0 at its length, or are empty.
    """
    shape, decoder, cross = weights.shape, weights.decoder, weights.cross
    for layer in range(decoder.n_layers):
        norm = decoder.attention_norm
        if decoder.is_recurrent:
            recur(before_sublayer(norm, layer, n_rows, shape, work), decoder, layer, n_rows, slots,
                  pages, work)  # fmt: skip
            after_sublayer(norm, layer, n_rows, shape, work)
        else:
            project_attention(decoder, layer, n_rows, shape, work, work.self_query)
            _store(layer, n_rows, slots, pages, work)
            _attend(decoder.n_heads, layer, n_rows, work.self_query, True, slots, pages, work,
                    self_record)  # fmt: skip
            add_attention(decoder.output, norm, layer, n_rows, shape, work)
        source = before_sublayer(cross.norm, layer, n_rows, shape, work)
        project(source, n_rows, cross.query, layer, NO_FLOOR, False, work.scratch, work.query)
        _attend(decoder.n_heads, layer, n_rows, work.query, False, slots, pages, work,
                cross_record)  # fmt: skip
        add_attention(cross.output, cross.norm, layer, n_rows, shape, work)
        add_feed_forward(decoder, layer, n_rows, shape, work)
    if shape.pre_norm:
        normalise(work.x, n_rows, decoder.norm, 0, work.x)


@kernel
def _store(layer: int, n_rows: int, slots: Slots, pages: Pages, work: Workspace) -> None:
    """Store each row's keys and values at its position."""
    width, stride = pages.keys.shape[1], work.keys.shape[1]
    base, longest = layer * PAGE * width, slots.path.shape[1]
    for row in range(n_rows):
        slot, lane = work.row_slot[row], work.row_lane[row]
        path_at = (slot * MAX_BEAM + lane) * longest
        to = base + get(slots.path, path_at + slots.length[slot]) * width
        for i in range(width):
            put(pages.keys, to + i, get(work.keys, row * stride + i))
            put(pages.values, to + i, get(work.values, row * stride + i))


@kernel
def _attend(
    n_heads: int, layer: int, n_rows: int, query: Floats, is_self: bool, slots: Slots,
    pages: Pages, work: Workspace, record: Floats,
) -> None:  # fmt: skip
    """Each row of `query` over its path, or else over its sentence's source → work.context."""
    width, stride = pages.keys.shape[1], query.shape[1]
    base = layer * PAGE * width
    positions = slots.path if is_self else slots.source
    for row in range(n_rows):
        slot, lane = work.row_slot[row], work.row_lane[row]
        length = slots.length[slot]
        index = slot * MAX_BEAM + lane if is_self else slot
        n_positions = length + 1 if is_self else slots.source_length[slot]
        attend(n_heads, width, query, row * stride, pages.keys, pages.values, base, width,
               positions, index * positions.shape[1], n_positions, work.attention, work.context,
               row * stride)  # fmt: skip
        if len(record):
            record_weights(n_heads, n_positions, work.attention, record, layer, length)
