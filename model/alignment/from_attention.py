"""Word alignment read off the attention of a translation model. Imports no torch.

What the encoder-decoder attention of one teacher-forced pass looked at, gathered from pieces to
words, is how strongly each source word belongs to each target word. Three choices decide how good
an alignment it makes; they are an `AlignmentMethod`, which travels with the checkpoint:

- which head, for most heads do other things than align;
- which decoder position stands for a target token: the one that produces it, or the next one,
  which reads it and knows it (Chen et al. 2020, "Accurate Word Alignment Induction from Neural
  Machine Translation", SHIFT-ATT);
- how to reconcile what the source words prefer with what the target words prefer (Och & Ney 2003;
  Koehn et al. 2005), and whether the reverse translation is asked too.
"""

from __future__ import annotations

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
    """How to read an alignment off the attention; the default is what any model can do."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    layer: int | None = Field(None, ge=0, description="of the decoder, from 0; null: the last")
    head: int | None = Field(None, ge=0, description="null: the mean over the layer's heads")
    position: Position = Field(
        "producing", description="decoder position of a target token: what produces or reads it"
    )
    both_directions: bool = Field(
        False, description="average with a pass that translates the target back into the source"
    )
    symmetrisation: Symmetrisation = Field(
        "argmax",
        description="argmax: each target word's best source word; intersection: where that is "
        "mutual; grow-diag: from there to neighbours that one side prefers",
    )
    threshold: float = Field(0.0, ge=0, lt=1, description="weight that a link must exceed")


@dataclass(frozen=True, slots=True)
class Bitext:
    """A text and its translation, with their words.

    produced  the target's tokens as the decoder produced them; None: as the vocabulary has them
    read      the source's tokens as the encoder read them, control symbols included; None: they
              are not known yet
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
    """One teacher-forced pass, whose weights `Engine.explain` tells, and the words of its sides.

    reverse  it translates the pair's target into its source
    """

    source: Sequence[Token]
    target: Sequence[Token]
    source_words: Sequence[Span]
    target_words: Sequence[Span]
    reverse: bool

    @property
    def ids(self) -> tuple[list[int], list[int]]:
        """What the encoder reads and what the decoder is made to produce."""
        return [token.id for token in self.source], [token.id for token in self.target]


class WordWeights(NamedTuple):
    """Attention between words [layers, heads, source words, target words], by decoder position."""

    producing: NDArray[np.float32]
    reading: NDArray[np.float32]


def passes(codec: TextCodec, max_length: int, pair: Bitext, *, both_directions: bool) -> list[Pass]:
    """The passes that an alignment of a pair needs: forward, and with `both_directions` back.

    The way back is left out for a target that makes more tokens than the model reads. Raises
    `InputError` where the way forward is too long, `LanguageError` for a target language that
    the vocabulary has no symbol for.
    """
    forward = Pass(
        source=codec.encode_source(pair.source, pair.target_language)
        if pair.read is None
        else pair.read,
        target=codec.encode_target(pair.target) if pair.produced is None else pair.produced,
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
        source=codec.encode_source(pair.target, pair.source_language),
        target=codec.encode_target(pair.source),
        source_words=pair.target_words,
        target_words=pair.source_words,
        reverse=True,
    )
    fits = max(len(back.source), len(back.target)) <= max_length
    return [forward, back] if fits else [forward]


def word_weights(run: Pass, weights: NDArray[np.float32]) -> WordWeights:
    """Weights of a pass [layers, heads, T, S], gathered from tokens to words.

    A target word has the mean of its tokens' weights, a source word the sum; a token that lies in
    several words counts for each in equal shares. What goes to the target-language symbol and the
    end of sentence goes to no word, so the weights of a target word sum to at most 1.
    """
    to_source = _shares(run.source, run.source_words)
    of_target = _shares(run.target, run.target_words).T
    of_target /= np.maximum(of_target.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    # The position after the last token, if it was not the end of sentence, was never computed.
    reading = np.minimum(np.arange(len(run.target)) + 1, len(run.target) - 1)
    gathered = weights @ to_source
    found = (of_target @ gathered, of_target @ gathered[..., reading, :])
    if not run.reverse:
        found = (found[0].swapaxes(-1, -2), found[1].swapaxes(-1, -2))
    return WordWeights(*found)


def align(
    runs: Sequence[Pass], weights: Sequence[NDArray[np.float32]], method: AlignmentMethod
) -> list[Link]:
    """The alignment that the weights [layers, heads, T, S] of a pair's passes make, in order."""
    found = pair_weights(runs, weights, method)
    return symmetrise(found, method.symmetrisation, method.threshold)


def pair_weights(
    runs: Sequence[Pass], weights: Sequence[NDArray[np.float32]], method: AlignmentMethod
) -> NDArray[np.float32]:
    """What the method reads of a pair's passes, weights [source words, target words]."""
    of_head = [_of_head(one, method)[None, None] for one in weights]
    by_pass = [word_weights(run, one) for run, one in zip(runs, of_head, strict=True)]
    return _averaged(by_pass, method.model_copy(update={"layer": 0, "head": 0}))


def links(by_pass: Sequence[WordWeights], method: AlignmentMethod) -> list[Link]:
    """The alignment that the word weights of a pair's passes make, in order of the source.

    Raises `IndexError` for a layer or head that the model does not have.
    """
    return symmetrise(_averaged(by_pass, method), method.symmetrisation, method.threshold)


def symmetrise(
    weights: NDArray[np.float32], symmetrisation: Symmetrisation, threshold: float
) -> list[Link]:
    """Weights [source words, target words] → links, in order; none with `threshold` or less."""
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
    """From the intersection to neighbouring links of the union (Koehn et al. 2005, IWSLT).

    A link joins if it touches one that is in, diagonally too, and one of its words has none yet.
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
    wanted = by_pass if method.both_directions else by_pass[:1]
    chosen = [_of_head(getattr(weights, method.position), method) for weights in wanted]
    averaged: NDArray[np.float32] = np.mean(chosen, axis=0)
    return averaged


def _of_head(weights: NDArray[np.float32], method: AlignmentMethod) -> NDArray[np.float32]:
    """[layers, heads, …] → […] of the method's head."""
    layer = weights[-1 if method.layer is None else method.layer]
    chosen: NDArray[np.float32] = layer.mean(axis=0) if method.head is None else layer[method.head]
    return chosen


def _shares(tokens: Sequence[Token], words: Sequence[Span]) -> NDArray[np.float32]:
    """[tokens, words]: which part of each token is of which word; 0 where they do not meet."""
    if not words:
        return np.zeros((len(tokens), 0), dtype=np.float32)
    of_tokens = np.array([(token.start, token.end) for token in tokens])[:, None, :]
    of_words = np.array(words)[None, :, :]
    meet = (of_tokens[..., 0] < of_words[..., 1]) & (of_words[..., 0] < of_tokens[..., 1])
    meet &= of_tokens[..., 0] < of_tokens[..., 1]  # an empty span lies in no word
    shares: NDArray[np.float32] = meet / np.maximum(meet.sum(axis=1, keepdims=True), 1)
    return shares.astype(np.float32)
