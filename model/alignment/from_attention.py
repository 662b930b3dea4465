"""Derives word alignments from the attention of a translation model. Imports no torch.

The encoder-decoder attention of a teacher-forced pass, aggregated from pieces to words, measures
how strongly each source word corresponds to each target word. The quality of the alignment depends
on three choices, which form an `AlignmentMethod` and are stored in the checkpoint:

- the head, since most heads do not align;
- the decoder position of a target token: the one that produces it, or the next one, whose input it
  is (Chen et al. 2020, "Accurate Word Alignment Induction from Neural Machine Translation",
  SHIFT-ATT);
- how to combine the preferences of source words and target words (Och & Ney 2003; Koehn et al.
  2005), and whether to use the reverse translation as well.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from model.errors import InputError
from model.text.text_codec import TextCodec, Token
from model.text.words import Span

Link: TypeAlias = tuple[int, int]
"""Source word, target word, from 0: Pharaoh's `i-j`."""

Position = Literal["producing", "reading"]
Symmetrisation = Literal["argmax", "intersection", "grow-diag"]

_NEIGHBOURS = [step for step in itertools.product((-1, 0, 1), repeat=2) if step != (0, 0)]


class AlignmentMethod(BaseModel):
    """How to derive an alignment from attention; the default works with any model."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    layer: int | None = Field(None, ge=0, description="decoder layer from 0; null: the last")
    head: int | None = Field(None, ge=0, description="null: the mean over the layer's heads")
    position: Position = Field(
        "producing", description="decoder position of a target token: producing or reading it"
    )
    both_directions: bool = Field(
        False, description="average with a pass that translates the target back into the source"
    )
    symmetrisation: Symmetrisation = Field(
        "argmax",
        description="argmax: each target word's best source word; intersection: mutual best "
        "links; grow-diag: these and neighbours that one side prefers",
    )
    threshold: float = Field(0.0, ge=0, lt=1, description="weight that a link must exceed")


@dataclass(frozen=True, slots=True)
class Bitext:
    """A text and its translation, with their words.

    produced  the target's tokens as the decoder produced them; None: as the tokeniser splits it
    read      the source's tokens as the encoder read them, with control symbols; None: not known
    """

    source: str
    target: str
    source_language: str
    target_language: str
    source_words: Sequence[Span]
    target_words: Sequence[Span]
    produced: Sequence[Token] | None = None
    read: Sequence[Token] | None = None


@dataclass(frozen=True, slots=True)
class Pass:
    """A teacher-forced pass for `Engine.explain`; if `reverse`, from target to source."""

    source: Sequence[Token]
    target: Sequence[Token]
    source_words: Sequence[Span]
    target_words: Sequence[Span]
    reverse: bool

    @property
    def ids(self) -> tuple[list[int], list[int]]:
        return [token.id for token in self.source], [token.id for token in self.target]


class WordWeights(NamedTuple):
    """Attention between words [layers, heads, source words, target words], by decoder position."""

    producing: NDArray[np.float32]
    reading: NDArray[np.float32]


def passes(codec: TextCodec, max_length: int, pair: Bitext, *, both_directions: bool) -> list[Pass]:
    """Return the passes that aligning a pair needs: forward, and reverse if `both_directions`.

    The reverse pass is omitted for a target of more tokens than the model reads. Raises
    `InputError` if the forward pass is too long, `LanguageError` for a target language without a
    symbol in the vocabulary.
    """
    forward = Pass(
        source=codec.encode_source(pair.source, pair.target_language, pair.source_language)
        if pair.read is None
        else pair.read,
        target=codec.encode_target(pair.target, pair.target_language)
        if pair.produced is None
        else pair.produced,
        source_words=pair.source_words,
        target_words=pair.target_words,
        reverse=False,
    )
    longest = max(len(forward.source), len(forward.target))
    if longest > max_length:
        raise InputError(f"{longest} tokens, the model reads at most {max_length}")
    if not both_directions:
        return [forward]
    back = Pass(
        source=codec.encode_source(pair.target, pair.source_language, pair.target_language),
        target=codec.encode_target(pair.source, pair.source_language),
        source_words=pair.target_words,
        target_words=pair.source_words,
        reverse=True,
    )
    fits = max(len(back.source), len(back.target)) <= max_length
    return [forward, back] if fits else [forward]


def word_weights(run: Pass, weights: NDArray[np.float32]) -> WordWeights:
    """Aggregate the weights [layers, heads, T, S] of a pass from tokens to words.

    A target word gets the mean of its tokens' weights, a source word the sum; a token in several
    words counts for each in equal shares. Weights of the target-language symbol and the end of
    sentence are dropped, so those of a target word sum to at most 1.
    """
    to_source = _shares(run.source, run.source_words)
    of_target = _shares(run.target, run.target_words).T
    of_target /= np.maximum(of_target.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    # The position after the last token is not computed unless it is the end of sentence.
    reading = np.minimum(np.arange(len(run.target)) + 1, len(run.target) - 1)
    gathered = weights @ to_source
    found = (of_target @ gathered, of_target @ gathered[..., reading, :])
    if not run.reverse:
        found = (found[0].swapaxes(-1, -2), found[1].swapaxes(-1, -2))
    return WordWeights(*found)


def align(
    runs: Sequence[Pass], weights: Sequence[NDArray[np.float32]], method: AlignmentMethod
) -> list[Link]:
    """Return the sorted links from the weights [layers, heads, T, S] of a pair's passes."""
    found = pair_weights(runs, weights, method)
    return symmetrise(found, method.symmetrisation, method.threshold)


def pair_weights(
    runs: Sequence[Pass], weights: Sequence[NDArray[np.float32]], method: AlignmentMethod
) -> NDArray[np.float32]:
    """Return the weights [source words, target words] that the method selects from the passes."""
    of_head = [_of_head(one, method)[None, None] for one in weights]
    by_pass = [word_weights(run, one) for run, one in zip(runs, of_head, strict=True)]
    return _averaged(by_pass, method.model_copy(update={"layer": 0, "head": 0}))


def links(by_pass: Sequence[WordWeights], method: AlignmentMethod) -> list[Link]:
    """Return the links from the word weights of a pair's passes, sorted by source.

    Raises `IndexError` for a layer or head that the model does not have.
    """
    return symmetrise(_averaged(by_pass, method), method.symmetrisation, method.threshold)


def symmetrise(
    weights: NDArray[np.float32], symmetrisation: Symmetrisation, threshold: float
) -> list[Link]:
    """Weights [source words, target words] → sorted links, only those above `threshold`."""
    if not weights.size:
        return []
    above = weights > threshold
    of_targets = {(int(i), j) for j, i in enumerate(weights.argmax(axis=0)) if above[i, j]}
    if symmetrisation == "argmax":
        return sorted(of_targets)
    of_sources = {(i, int(j)) for i, j in enumerate(weights.argmax(axis=1)) if above[i, j]}
    if symmetrisation == "intersection":
        return sorted(of_targets & of_sources)
    return sorted(grow_diag(of_targets, of_sources))


def grow_diag(one: set[Link], other: set[Link]) -> set[Link]:
    """Grow from the intersection to neighbouring links of the union (Koehn et al. 2005, IWSLT).

    A link is added if it is adjacent to an included one, also diagonally, and one of its words has
    no link yet.
    """
    union, grown = one | other, one & other
    sources, targets = {i for i, _ in grown}, {j for _, j in grown}
    fringe = sorted(grown)
    while fringe:
        reached = []
        for i, j in fringe:
            for down, right in _NEIGHBOURS:
                link = (i + down, j + right)
                unaligned = link[0] not in sources or link[1] not in targets
                if link in union and link not in grown and unaligned:
                    grown.add(link)
                    sources.add(link[0])
                    targets.add(link[1])
                    reached.append(link)
        fringe = reached
    return grown


def _averaged(by_pass: Sequence[WordWeights], method: AlignmentMethod) -> NDArray[np.float32]:
    used = by_pass if method.both_directions else by_pass[:1]
    chosen = [_of_head(getattr(weights, method.position), method) for weights in used]
    averaged: NDArray[np.float32] = np.mean(chosen, axis=0)
    return averaged


def _of_head(weights: NDArray[np.float32], method: AlignmentMethod) -> NDArray[np.float32]:
    """[layers, heads, …] → […], for the method's head."""
    layer = weights[-1 if method.layer is None else method.layer]
    chosen: NDArray[np.float32] = layer.mean(axis=0) if method.head is None else layer[method.head]
    return chosen


def _shares(tokens: Sequence[Token], words: Sequence[Span]) -> NDArray[np.float32]:
    """Return [tokens, words]: the share of each token in each word."""
    if not words:
        return np.zeros((len(tokens), 0), dtype=np.float32)
    of_tokens = np.array([(token.start, token.end) for token in tokens])[:, None, :]
    of_words = np.array(words)[None, :, :]
    meet = (of_tokens[..., 0] < of_words[..., 1]) & (of_words[..., 0] < of_tokens[..., 1])
    meet &= of_tokens[..., 0] < of_tokens[..., 1]  # an empty span is in no word
    shares = meet / np.maximum(meet.sum(axis=1, keepdims=True), 1)
    return np.asarray(shares, dtype=np.float32)
