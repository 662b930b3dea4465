"""What a model makes of a given pair, by one teacher-forced pass with what translates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.engine.cpu.forward.decoder import Newcomers, decode, gather, join
from model.engine.cpu.forward.encoder import encode
from model.engine.cpu.forward.output import make_predictions, predict
from model.engine.cpu.forward.slots import (
    Pages,
    Slots,
    make_pages,
    make_slots,
    occupy,
    pages_needed,
)
from model.engine.cpu.forward.weights import Weights
from model.engine.cpu.forward.workspace import Workspace
from model.engine.cpu.kernels.types import Floats
from model.engine.explanations import AttentionKind, IdPair


def explain(
    weights: Weights, work: Workspace, source_ids: Sequence[int], target_ids: Sequence[int],
    kind: AttentionKind,
) -> Floats:  # fmt: skip
    """[layers, heads, T, S]; see `Engine.explain`. Between two steps, since it uses `work`."""
    n_source, n_target = len(source_ids), len(target_ids)
    if kind == "encoder":
        encoder = weights.encoder
        record = np.zeros((encoder.n_layers, encoder.n_heads, n_source, n_source), np.float32)
        ids, bounds = np.array(source_ids, np.int64), np.array([0, n_source], np.int64)
        encode(weights, ids, bounds, work, record)
        return record
    decoder = weights.decoder
    of_self = np.zeros((decoder.n_layers, decoder.n_heads, n_target, n_target), np.float32)
    of_cross = np.zeros((decoder.n_layers, decoder.n_heads, n_target, n_source), np.float32)
    for _ in _forced(weights, work, source_ids, target_ids, of_self, of_cross):
        pass
    return of_self if kind == "decoder" else of_cross


def score(
    weights: Weights, work: Workspace, pairs: Sequence[IdPair], *, renormalises: bool,
    first_id: int | None,
) -> list[Floats]:  # fmt: skip
    """[T] of each pair; see `Engine.score` and `Traits`. Between two steps, since it uses `work`.

    There are at most as many pairs as `work` has rows. They advance together, a token a step.
    """
    targets = [np.array(target_ids, np.int64) for _, target_ids in pairs]
    log_probs = [np.zeros(len(target), np.float32) for target in targets]
    slots, pages = _memory_for_all(weights, pairs)
    ids = np.array([one for source_ids, _ in pairs for one in source_ids], np.int64)
    bounds = np.cumsum([0, *(len(source_ids) for source_ids, _ in pairs)])
    join(weights, Newcomers(ids, bounds, np.arange(len(pairs))), slots, pages, work)
    predictions = make_predictions(n_rows=len(pairs), most_wanted=1, most_asked=1)
    predictions.n_asked[:] = 1
    predictions.renormalises[:] = renormalises
    n_rows = gather(weights, slots, pages, work)
    while n_rows:
        decode(weights, n_rows, slots, pages, work, work.no_record, work.no_record)
        in_row = work.row_slot[:n_rows].copy()
        at = slots.length[in_row]
        tokens = np.array([targets[slot][t] for slot, t in zip(in_row, at, strict=True)])
        predictions.asked["token"][:n_rows, 0] = tokens
        predict(weights.output, n_rows, weights.shape.pad_id, work, predictions)
        for row, (slot, t) in enumerate(zip(in_row, at, strict=True)):
            log_probs[slot][t] = predictions.asked["log_prob"][row, 0]
        slots.latest[in_row, 0] = tokens
        slots.length[in_row] += 1
        slots.active[in_row] = slots.length[in_row] < [len(targets[slot]) for slot in in_row]
        n_rows = gather(weights, slots, pages, work)
    if first_id is not None:
        for target, found in zip(targets, log_probs, strict=True):
            found[0] = 0 if target[0] == first_id else -np.inf
    return log_probs


def _memory_for_all(weights: Weights, pairs: Sequence[IdPair]) -> tuple[Slots, Pages]:
    """A slot for each pair, numbered as the pairs are, with one hypothesis."""
    sizes = [(len(source_ids), len(target_ids)) for source_ids, target_ids in pairs]
    slots = make_slots(len(pairs), max(map(max, sizes)))
    pages = make_pages(weights, sum(pages_needed(source, 1, target) for source, target in sizes))
    for slot, (n_source, n_target) in enumerate(sizes):
        occupy(slots, slot, pages, n_source, 1, 1, n_target, weights.shape.start_id)
    return slots, pages


def _forced(
    weights: Weights, work: Workspace, source_ids: Sequence[int], target_ids: Sequence[int],
    of_self: Floats, of_cross: Floats,
) -> Iterator[int]:  # fmt: skip
    """As `forced`, with memory of its own."""
    slots, pages = memory_for(weights, len(source_ids), len(target_ids))
    return forced(weights, work, source_ids, target_ids, slots, pages, of_self, of_cross)


def memory_for(weights: Weights, n_source: int, n_target: int) -> tuple[Slots, Pages]:
    """A slot, number 0, for one sentence and one hypothesis of so many tokens."""
    slots = make_slots(1, max(n_source, n_target))
    pages = make_pages(weights, pages_needed(n_source, 1, n_target))
    occupy(slots, 0, pages, n_source, 1, 1, n_target, weights.shape.start_id)
    return slots, pages


def forced(
    weights: Weights, work: Workspace, source_ids: Sequence[int], target_ids: Sequence[int],
    slots: Slots, pages: Pages, of_self: Floats, of_cross: Floats,
) -> Iterator[int]:  # fmt: skip
    """Each target token, when row 0 of work.x is the decoder's output that should predict it."""
    ids, bounds = np.array(source_ids, np.int64), np.array([0, len(source_ids)], np.int64)
    join(weights, Newcomers(ids, bounds, np.zeros(1, np.int64)), slots, pages, work)
    for length, token in enumerate(target_ids, start=1):
        n_rows = gather(weights, slots, pages, work)
        decode(weights, n_rows, slots, pages, work, of_self, of_cross)
        yield token
        slots.length[0] = length
        slots.latest[0, 0] = token
