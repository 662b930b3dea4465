"""What a model makes of a given pair, by one teacher-forced pass with what translates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from model.engine.cpu.decoder import Newcomers, decode, gather, join
from model.engine.cpu.encoder import encode
from model.engine.cpu.output import make_predictions, predict
from model.engine.cpu.slots import Pages, Slots, make_pages, make_slots, occupy, pages_needed
from model.engine.cpu.types import Floats
from model.engine.cpu.weights import Weights
from model.engine.cpu.workspace import Workspace
from model.engine.protocol import AttentionKind


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
    weights: Weights, work: Workspace, source_ids: Sequence[int], target_ids: Sequence[int],
    *, renormalises: bool, first_id: int | None,
) -> Floats:  # fmt: skip
    """[T]; see `Engine.score` and `Traits`. Between two steps, since it uses `work`."""
    log_probs = np.zeros(len(target_ids), np.float32)
    predictions = make_predictions(n_rows=1, most_wanted=1, most_asked=1)
    predictions.n_asked[0] = 1
    predictions.renormalises[0] = renormalises
    no_record = work.no_record
    for t, token in enumerate(_forced(weights, work, source_ids, target_ids, no_record, no_record)):
        predictions.asked[0, 0] = (token, 0, 0.0)
        predict(weights.output, 1, weights.shape.pad_id, work, predictions)
        log_probs[t] = predictions.asked["log_prob"][0, 0]
    if first_id is not None:
        log_probs[0] = 0 if target_ids[0] == first_id else -np.inf
    return log_probs


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
