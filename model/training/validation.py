"""Progress on held-out pairs: cross-entropy, greedy BLEU, and units without gradient."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np
import sacrebleu
import torch
from torch import Tensor, nn

from model.decoding.beam import beam_search
from model.decoding.hypothesis import SearchOptions
from model.decoding.padding import padded_ids
from model.text.text_codec import TrainingCodec
from model.training.update.loss import smoothed_cross_entropy
from model.transformer.transformer import Transformer

MOSTLY_DEAD = 0.9
"""Share of dead units above which a layer causes a warning."""


class DeadShares(NamedTuple):
    """Shares of dead units, 0 … 1.

    overall      among all units
    worst        in the layer with the largest share
    mostly_dead  layers with more than `MOSTLY_DEAD`, such as `encoder.layers.3`
    """

    overall: float
    worst: float
    mostly_dead: list[str]


class DeadUnits:
    """Watches the feed-forward networks of a model within a `with` block.

    A unit is dead, and gets no gradient, if its activation was not above zero at any real token.
    """

    def __init__(self, model: Transformer) -> None:
        self._real: dict[str, Tensor] = {}
        self._active: dict[str, Tensor] = {}
        self._networks = {
            "encoder": [layer.feed_forward for layer in model.encoder.layers],
            "decoder": [layer.feed_forward for layer in model.decoder.layers],
        }
        self._handles: list[torch.utils.hooks.RemovableHandle] = []

    def __enter__(self) -> Self:
        for side, networks in self._networks.items():
            for index, network in enumerate(networks):
                hook = partial(self._record, f"{side}.layers.{index}", side)
                self._handles.append(network.w_2.register_forward_pre_hook(hook))
        return self

    def __exit__(self, *_: object) -> None:
        while self._handles:
            self._handles.pop().remove()

    def expect(self, source: Tensor, target: Tensor, pad_id: int) -> None:
        """Count the real tokens of the next batch only, source [B, S] and target [B, T]."""
        self._real = {"encoder": source != pad_id, "decoder": target != pad_id}

    def _record(self, name: str, side: str, _: nn.Module, inputs: tuple[Tensor]) -> None:
        real = self._real.get(side)
        [hidden] = inputs
        if real is None or real.shape != hidden.shape[:-1]:  # a step of a search
            return
        active = (hidden > 0).logical_and(real[:, :, None]).flatten(0, 1).any(dim=0)
        self._active[name] = self._active.get(name, torch.zeros_like(active)) | active

    def found(self) -> DeadShares | None:
        """Return the shares, or None if no network was run."""
        if not self._active:
            return None
        n_dead = {name: int((~active).sum()) for name, active in self._active.items()}
        n_units = {name: len(active) for name, active in self._active.items()}
        shares = {name: n_dead[name] / n_units[name] for name in n_units}
        return DeadShares(
            overall=sum(n_dead.values()) / sum(n_units.values()),
            worst=max(shares.values()),
            mostly_dead=[name for name, share in shares.items() if share > MOSTLY_DEAD],
        )


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
