"""Random models whose translations end by themselves, near the length of their source.

The row of </s> in the output projection is fitted to the states of greedy decoding: its logit
equals that of the best other token where the target is as long as the source, and grows by `SLOPE`
per token. Its bias makes all targets together as long as all sources. For shapes that no trained
model can be widened to; see `benchmarks.widened`.
"""

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.decode import natural_sources
from benchmarks.system import Ids
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.decoding.padding import padded_ids
from model.decoding.rules import HuggingFaceRule
from model.training.random_checkpoint import write_random_checkpoint
from model.transformer.transformer import Transformer

ORDINARY_IDS = 300
"""First id of the pieces that random sources consist of."""
SLOPE = 1.5
PIECES_PER_WORD = 1.3
MAX_SOURCE_TOKENS = 60
RIDGE = 1e-3
PASSES = 2
"""Where embeddings are tied, fitting the row also changes </s> in the source."""
HALVINGS = 30


@dataclass(frozen=True)
class Lengths:
    """Lengths of greedy translations.

    ratio      mean of target tokens per source token
    deviation  mean distance between the lengths of a target and its source, in tokens
    ended      share that ended before the limit, 0 … 1
    """

    ratio: float
    deviation: float
    ended: float


def lengths_of_sentences(sentences: Sequence[str]) -> list[int]:
    """Estimate the number of source tokens of each sentence."""
    return [
        min(MAX_SOURCE_TOKENS, 3 + round(PIECES_PER_WORD * len(one.split()))) for one in sentences
    ]


def sources_of_lengths(checkpoint: Checkpoint, lengths: Sequence[int]) -> list[Ids]:
    """Return random sources: a target-language symbol, pieces, end of sentence."""
    (symbol, *_), *_ = natural_sources(checkpoint, ["a"])
    vocab_size = checkpoint.tokenizer.source_vocab_size
    pieces = range(min(ORDINARY_IDS, vocab_size // 2), vocab_size - 16)
    return sources_of_pieces(lengths, pieces, (symbol,), (checkpoint.tokenizer.eos_id,))


def sources_of_pieces(
    sizes: Sequence[int], pieces: range, before: Ids = (), after: Ids = ()
) -> list[Ids]:
    """Return a source of each size: random pieces between `before` and `after`."""
    choose, given = random.Random(1), len(before) + len(after)
    return [(*before, *choose.choices(pieces, k=max(1, n - given)), *after) for n in sizes]


@dataclass(frozen=True)
class GreedyDecoding:
    """n greedy translations of T tokens in which </s> is excluded.

    states  [T, n, D], input of the output projection
    best    [T, n], logit of the chosen token
    sizes   [n], source lengths
    """

    states: Tensor
    best: Tensor
    sizes: Tensor

    def target_lengths(self, row: Tensor, bias: float) -> Tensor:
        """Return the lengths [n] with this row and bias of </s>; T for one that does not end."""
        ended = self.states @ row + bias > self.best
        return torch.where(ended.any(dim=0), ended.int().argmax(dim=0) + 1, len(ended))


@torch.inference_mode()
def decode_greedily(
    model: Transformer, sources: Sequence[Ids], first_id: int | None = None
) -> GreedyDecoding:
    """Translate greedily to twice the length of the longest source."""
    sizes = torch.tensor([len(ids) for ids in sources])
    memory = model.encode(padded_ids(sources, model.config.pad_id, torch.device("cpu")))
    cache = model.start(memory)
    ids = torch.full((len(sources),), model.config.start_id)
    if first_id is not None:
        model.step(ids, cache)
        ids = torch.full_like(ids, first_id)
    states, chosen = [], []
    for _ in range(2 * int(sizes.max())):
        x = model.positions(model.target_embedding(ids[:, None]), first=cache.length)
        hidden = model.decoder.step(x, cache)[:, 0]
        logits = model.output(hidden)
        logits[:, model.config.eos_id] = -torch.inf
        best, ids = logits.max(dim=1)
        states.append(hidden)
        chosen.append(best)
    return GreedyDecoding(torch.stack(states), torch.stack(chosen), sizes)


def fitted_row(decoded: GreedyDecoding) -> Tensor:
    """Fit the row [D] of </s> by least squares, near the desired lengths."""
    lengths_so_far = torch.arange(1, len(decoded.states) + 1)[:, None]
    near = lengths_so_far <= 2 * decoded.sizes
    target = (decoded.best + SLOPE * (lengths_so_far - decoded.sizes))[near].double()
    x = decoded.states[near].double()
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
    damping = RIDGE * len(x) * torch.eye(x.shape[1], dtype=x.dtype)
    damping[-1, -1] = 0
    solution: Tensor = torch.linalg.solve(x.T @ x + damping, x.T @ target)
    return solution[:-1].float()


def fitted_bias(decoded: GreedyDecoding, row: Tensor) -> float:
    """Find the bias of </s> that makes the total target length equal the total source length."""
    margins = decoded.best - decoded.states @ row
    low, high = float(margins.min()) - 1, float(margins.max()) + 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if decoded.target_lengths(row, middle).sum() > decoded.sizes.sum():
            low = middle
        else:
            high = middle
    return high


@torch.no_grad()
def constant_direction(model: Transformer) -> Tensor:
    """Return a vector [D] whose product with every input of the output projection is 1.

    After a final LayerNorm with scale γ and shift β, the sum of (state − β) / γ is zero. Raises
    `ValueError` without a LayerNorm, or if its shift yields no such vector.
    """
    norm = model.decoder.norm
    if not isinstance(norm, nn.LayerNorm) or not (total := float((norm.bias / norm.weight).sum())):
        raise ValueError("the output has no bias, and no final LayerNorm with a shift")
    return 1 / (norm.weight * total)


@torch.no_grad()
def fit_end(model: Transformer, sources: Sequence[Ids], first_id: int | None = None) -> None:
    """Fit the row of </s> and its bias; without a bias, the row includes its effect.

    Raises `ValueError`; see `constant_direction`.
    """
    row, bias = model.output.weight[model.config.eos_id], model.output.bias
    constant = constant_direction(model) if bias is None else None
    for _ in range(PASSES):
        decoded = decode_greedily(model, sources, first_id)
        row[:] = fitted_row(decoded)
        if constant is not None:
            row += fitted_bias(decoded, row) * constant
    offset = fitted_bias(decode_greedily(model, sources, first_id), row)
    if constant is not None:
        row += offset * constant
    elif bias is not None:
        bias[model.config.eos_id] = offset


@torch.inference_mode()
def lengths(model: Transformer, sources: Sequence[Ids], first_id: int | None = None) -> Lengths:
    """Measure the lengths of greedy translations."""
    decoded = decode_greedily(model, sources, first_id)
    row, bias = model.output.weight[model.config.eos_id], model.output.bias
    offset = 0.0 if bias is None else float(bias[model.config.eos_id])
    found = decoded.target_lengths(row, offset)
    return Lengths(
        ratio=float((found / decoded.sizes).mean()),
        deviation=float((found - decoded.sizes).abs().float().mean()),
        ended=float((found < len(decoded.states)).float().mean()),
    )


def write_natural(
    folder: Path, preset: str, vocab_size: int | None, sentences: Sequence[str], n_fitted: int
) -> Lengths:
    """Write the checkpoint, and its sources to `<folder>.txt`."""
    scratch = folder.with_name(f".{folder.name}")
    shutil.rmtree(scratch, ignore_errors=True)
    write_random_checkpoint(scratch, preset, ("en", "fr"), vocab_size=vocab_size)
    loaded = load_checkpoint(scratch)
    shape = loaded.config.transformer.model_copy(update={"output_bias": True})
    model = Transformer(shape).eval()
    model.load_state_dict(load_model(loaded).state_dict(), strict=False)  # no bias
    sources = sources_of_lengths(loaded, lengths_of_sentences(sentences))
    fit_end(model, sources[:n_fitted])
    found = lengths(model, sources[n_fitted : 2 * n_fitted] or sources)
    update = {
        "name": folder.name,
        "transformer": shape,
        "search_rule": HuggingFaceRule(early_stopping=True),  # CTranslate2's
        "length_penalty": 1.0,
    }
    card = f"# {folder.name}\n\nRandom weights that end sentences, for benchmarks."
    config = loaded.config.model_copy(update=update)
    weights = dict(model.named_parameters())
    shutil.rmtree(folder, ignore_errors=True)
    save_checkpoint(folder, config, weights, loaded.tokenizer, card, {"preset": preset})
    lines = [loaded.tokenizer.decode(ids[1:-1]).replace("\n", " ") for ids in sources]
    folder.with_suffix(".txt").write_text("\n".join(lines) + "\n", "utf-8")
    shutil.rmtree(scratch)
    return found
