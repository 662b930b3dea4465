"""A random model whose translations end by themselves, near the length of their source.

python -m benchmarks.natural --vocabulary 32000

Random weights have no natural lengths, and forced equal ones hide padding, sorting and tails. Here
the row of </s> in the output projection is fitted to the states that the decoder is in when it
decodes greedily: its logit is that of the best other token where the target is as long as the
source, and grows by `SLOPE` with each token. Its bias is then chosen so that all targets together
have as many tokens as all sources. Sources are random pieces, as many as real sentences have.
`benchmarks.decode` and `benchmarks.serve` take both files.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import torch
from torch import Tensor, nn

from benchmarks.checkpoints import DEFAULT_WORK
from benchmarks.decode import ORDINARY_IDS, natural_sources
from benchmarks.options import benchmark, sentences_option
from benchmarks.sentences import read_sentences
from benchmarks.system import Ids
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.decoding.padding import padded_ids
from model.decoding.rules import HuggingFaceRule
from model.training.random_checkpoint import write_random_checkpoint
from model.transformer.config import PRESETS
from model.transformer.decoder import DecoderCache
from model.transformer.transformer import Transformer

SLOPE = 1.5
"""Of the logit of </s>, per token."""
PIECES_PER_WORD = 1.3
LONGEST = 60
"""Tokens of a source."""
RIDGE = 1e-3
PASSES = 2
"""Where embeddings are tied, the fitted row is also that of </s> in the source."""
HALVINGS = 30
"""Of the interval that has the bias."""


@dataclass(frozen=True)
class Lengths:
    """How long greedy translations are.

    ratio        mean of target tokens per source token
    deviation    mean distance of a target's length from its source's, in tokens
    ended        share that ended before the limit, 0 … 1
    """

    ratio: float
    deviation: float
    ended: float


def lengths_of_sentences(sentences: Sequence[str]) -> list[int]:
    """Tokens that a real model would read."""
    return [min(LONGEST, 3 + round(PIECES_PER_WORD * len(one.split()))) for one in sentences]


def sources_of_lengths(checkpoint: Checkpoint, lengths: Sequence[int]) -> list[Ids]:
    """Return random sources: a target-language symbol, pieces, end of sentence."""
    (symbol, *_), *_ = natural_sources(checkpoint, ["a"])
    vocab_size = checkpoint.tokenizer.source_vocab_size
    pieces = range(min(ORDINARY_IDS, vocab_size // 2), vocab_size - 16)
    return sources_of_pieces(lengths, pieces, (symbol,), (checkpoint.tokenizer.eos_id,))


def sources_of_pieces(
    sizes: Sequence[int], pieces: range, before: Ids = (), after: Ids = ()
) -> list[Ids]:
    """Return sources of those numbers of tokens: random pieces between given ones."""
    choose, given = random.Random(1), len(before) + len(after)
    return [(*before, *choose.choices(pieces, k=max(1, n - given)), *after) for n in sizes]


@dataclass(frozen=True)
class Walk:
    """Greedy translations that may not end: n of them, each of T tokens, however long its source.

    states  [T, n, D], what the output projection reads
    best    [T, n], the logit of the token that was chosen
    sizes   [n], tokens of the sources
    """

    states: Tensor
    best: Tensor
    sizes: Tensor

    def ends(self, row: Tensor, bias: float) -> Tensor:
        """Return the tokens [n] of each with this row and bias of </s>; T if it does not end."""
        ended = self.states @ row + bias > self.best
        return torch.where(ended.any(dim=0), ended.int().argmax(dim=0) + 1, len(ended))


def begin(
    model: Transformer, sources: Sequence[Ids], first_id: int | None
) -> tuple[Tensor, DecoderCache]:
    """Encode, and give the first token if there is one → the latest tokens [n], and the cache."""
    memory = model.encode(padded_ids(sources, model.config.pad_id, torch.device("cpu")))
    cache = model.start(memory)
    ids = torch.full((len(sources),), model.config.start_id)
    if first_id is not None:
        model.step(ids, cache)
        ids = torch.full_like(ids, first_id)
    return ids, cache


@torch.inference_mode()
def walk(model: Transformer, sources: Sequence[Ids], first_id: int | None = None) -> Walk:
    """Translate greedily, twice as far as the longest source."""
    sizes = torch.tensor([len(ids) for ids in sources])
    ids, cache = begin(model, sources, first_id)
    states, chosen = [], []
    for _ in range(2 * int(sizes.max())):
        x = model.positions(model.target_embedding(ids[:, None]), first=cache.length)
        hidden = model.decoder.step(x, cache)[:, 0]
        logits = model.output(hidden)
        logits[:, model.config.eos_id] = -torch.inf
        best, ids = logits.max(dim=1)
        states.append(hidden)
        chosen.append(best)
    return Walk(torch.stack(states), torch.stack(chosen), sizes)


def fitted_row(walked: Walk) -> Tensor:
    """Return the row [D] of </s> by least squares, near the lengths that are wanted."""
    lengths_so_far = torch.arange(1, len(walked.states) + 1)[:, None]
    near = lengths_so_far <= 2 * walked.sizes
    wanted = (walked.best + SLOPE * (lengths_so_far - walked.sizes))[near].double()
    x = walked.states[near].double()
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
    damping = RIDGE * len(x) * torch.eye(x.shape[1], dtype=x.dtype)
    damping[-1, -1] = 0
    solution: Tensor = torch.linalg.solve(x.T @ x + damping, x.T @ wanted)
    return solution[:-1].float()


def fitted_bias(walked: Walk, row: Tensor) -> float:
    """Return the bias of </s> with which targets have as many tokens as their sources, together."""
    margins = walked.best - walked.states @ row
    low, high = float(margins.min()) - 1, float(margins.max()) + 1  # nobody ends, everybody does
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if walked.ends(row, middle).sum() > walked.sizes.sum():
            low = middle
        else:
            high = middle
    return high


@torch.no_grad()
def constant_direction(model: Transformer) -> Tensor:
    """Return a vector [D] whose product with every state that the output projection reads is 1.

    A final LayerNorm, of scale γ and shift β, leaves a sum of (state − β) / γ that is zero. Raises
    `ValueError` without one, or if its shift gives no such vector.
    """
    norm = model.decoder.norm
    if not isinstance(norm, nn.LayerNorm) or not (total := float((norm.bias / norm.weight).sum())):
        raise ValueError("the output has no bias, and no final LayerNorm with a shift")
    return 1 / (norm.weight * total)


@torch.no_grad()
def fit_end(model: Transformer, sources: Sequence[Ids], first_id: int | None = None) -> None:
    """Set the row of </s> and its bias, without which the row gets the bias' effect.

    Raises `ValueError` as `constant_direction`.
    """
    row, bias = model.output.weight[model.config.eos_id], model.output.bias
    constant = constant_direction(model) if bias is None else None
    for _ in range(PASSES):
        walked = walk(model, sources, first_id)
        row[:] = fitted_row(walked)
        if constant is not None:
            row += fitted_bias(walked, row) * constant
    offset = fitted_bias(walk(model, sources, first_id), row)
    if constant is not None:
        row += offset * constant
    elif bias is not None:
        bias[model.config.eos_id] = offset


@torch.inference_mode()
def lengths(model: Transformer, sources: Sequence[Ids], first_id: int | None = None) -> Lengths:
    """Translate greedily and compare lengths."""
    sizes = torch.tensor([len(ids) for ids in sources])
    ids, cache = begin(model, sources, first_id)
    limit = 2 * int(sizes.max())
    found = torch.full_like(sizes, limit)
    for position in range(limit):
        ids = model.step(ids, cache).argmax(dim=1)
        ends_now = (ids == model.config.eos_id) & (found == limit)
        found[ends_now] = position + 1
    return Lengths(
        ratio=float((found / sizes).mean()),
        deviation=float((found - sizes).abs().float().mean()),
        ended=float((found < limit).float().mean()),
    )


def write_natural(
    folder: Path, preset: str, vocab_size: int | None, sentences: Sequence[str], n_fitted: int
) -> Lengths:
    """Write the checkpoint, and beside it `<folder>.txt`, one source a line."""
    scratch = folder.with_name(f".{folder.name}")
    shutil.rmtree(scratch, ignore_errors=True)
    write_random_checkpoint(scratch, preset, ("en", "fr"), vocab_size=vocab_size)
    loaded = load_checkpoint(scratch)
    shape = loaded.config.transformer.model_copy(update={"output_bias": True})
    model = Transformer(shape).eval()
    model.load_state_dict(load_model(loaded).state_dict(), strict=False)  # but for the bias
    sources = sources_of_lengths(loaded, lengths_of_sentences(sentences))
    some = sources[:n_fitted]
    fit_end(model, some)
    rest = sources[n_fitted : 2 * n_fitted] or some
    seen = lengths(model, rest)
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
    return seen


@benchmark
@click.option("--preset", type=click.Choice(list(PRESETS)), default="base")
@click.option("--vocabulary", type=click.IntRange(512), help="Pieces [default: the preset's].")
@sentences_option
@click.option("--fitted", type=click.IntRange(8), default=96, help="Sentences.")
@click.option("--work", type=click.Path(path_type=Path), default=DEFAULT_WORK)
def main(*, preset: str, vocabulary: int | None, sentences: Path, fitted: int, work: Path) -> None:
    """Write a random model of a preset, and sentences for it, and say how long it translates."""
    work.mkdir(parents=True, exist_ok=True)
    folder = work / f"natural-{preset}-{vocabulary or PRESETS[preset].target_vocab_size}"
    seen = write_natural(folder, preset, vocabulary, read_sentences(sentences), fitted)
    click.echo(
        f"wrote {folder} and {folder.name}.txt: greedy translations have {seen.ratio:.2f} × the "
        f"source's tokens, {seen.deviation:.1f} apart on average; {seen.ended:.0%} end"
    )


if __name__ == "__main__":
    main()
