"""Progress on held-out pairs: cross-entropy and greedy BLEU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sacrebleu
import torch

from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.decoding.padding import padded_ids
from model.training.data.codec import TrainingCodec
from model.training.dead_units import DeadUnits
from model.training.update.loss import smoothed_cross_entropy
from model.transformer.transformer import Transformer

_ROWS = 50


@dataclass(frozen=True)
class HeldOut:
    """Held-out pairs of one direction; `is_exact` if only the reference is right."""

    name: str
    target_language: str
    sources: list[str]
    references: list[str]
    is_exact: bool = False


@torch.inference_mode()
def held_out_loss(
    model: Transformer, tokenizer: TrainingCodec, held_out: HeldOut, units: DeadUnits | None = None
) -> float:
    """Cross-entropy in nats per target token, without smoothing; `units` watches meanwhile."""
    total, count = 0.0, 0
    config = model.config
    for start in range(0, len(held_out.sources), _ROWS):
        rows = slice(start, start + _ROWS)
        source = _source_ids(model, tokenizer, held_out, rows)
        targets = tokenizer.encode_targets(held_out.references[rows])
        target = padded_ids(
            [[*ids, tokenizer.eos_id][: config.max_length] for ids in targets],
            config.pad_id,
            model.device,
        )
        if units:
            units.expect(source, target, config.pad_id)
        hidden, expected = teacher_forced(model, source, target)
        total += smoothed_cross_entropy(hidden, model.output, expected, 0.0).cross_entropy.item()
        count += len(expected)
    return total / count


def greedy_bleu(
    model: Transformer, tokenizer: TrainingCodec, held_out: HeldOut, pairs: int
) -> float:
    """BLEU of greedy translations of the first `pairs` sources."""
    outputs = _greedy(model, tokenizer, held_out, pairs)
    return float(sacrebleu.corpus_bleu(outputs, [held_out.references[: len(outputs)]]).score)


def _greedy(
    model: Transformer, tokenizer: TrainingCodec, held_out: HeldOut, pairs: int
) -> list[str]:
    outputs: list[str] = []
    for start in range(0, min(pairs, len(held_out.sources)), _ROWS):
        rows = slice(start, min(start + _ROWS, pairs))
        source = _source_ids(model, tokenizer, held_out, rows)
        found = beam_search(model, source, SearchOptions(beam_size=1))
        outputs += [tokenizer.decode(best.ids) for best, *_ in found]
    return outputs


def share_right(model: Transformer, tokenizer: TrainingCodec, held_out: HeldOut) -> float:
    """Share of the sources, 0 … 1, whose greedy translation is the reference."""
    outputs = _greedy(model, tokenizer, held_out, len(held_out.sources))
    return float(np.mean([a == b for a, b in zip(outputs, held_out.references, strict=True)]))


def teacher_forced(
    model: Transformer, source: torch.Tensor, target: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Source [B, S], target [B, T] → hidden [N, D] and expected ids [N] at the N real positions."""
    config = model.config
    start = target.new_full((len(target), 1), config.start_id)
    hidden = model.decode(model.encode(source), torch.cat((start, target[:, :-1]), dim=1))
    real = target != config.pad_id
    return hidden[real], target[real]


def _source_ids(
    model: Transformer, tokenizer: TrainingCodec, held_out: HeldOut, rows: slice
) -> torch.Tensor:
    symbols = tokenizer.source_symbols(held_out.target_language)
    ids = tokenizer.encode_batch(held_out.sources[rows])
    limit = model.config.max_length - len(symbols) - 1
    return padded_ids(
        [[*symbols, *row[:limit], tokenizer.eos_id] for row in ids],
        model.config.pad_id,
        model.device,
    )
