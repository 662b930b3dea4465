from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from app.scheduling.fair_queue import Caller
from app.scheduling.scheduler import Scheduler
from app.translation.word_aligner import WordAligner
from model.alignment.from_attention import AlignmentMethod, Bitext, Link
from model.checkpoint.reader import load_checkpoint
from model.engine.explanations import AttentionKind
from model.text.text_codec import TextCodec
from model.text.words import words
from tests.app.fake_engine import FakeEngine


class DiagonalEngine(FakeEngine):
    """In head 2 of layer 1, target token n attends to source token n when it is read."""

    passes: list[tuple[list[int], list[int]]]

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        assert kind == "cross"
        self.passes = [*getattr(self, "passes", []), (list(source_ids), list(target_ids))]
        weights = np.full((2, 4, len(target_ids), len(source_ids)), 0.01, dtype=np.float32)
        for token in range(len(target_ids) - 1):
            weights[1, 2, token + 1, min(token + 1, len(source_ids) - 1)] = 1
        return weights


@asynccontextmanager
async def aligning(
    checkpoint: Path, engine: FakeEngine, method: AlignmentMethod
) -> AsyncIterator[tuple[WordAligner, TextCodec]]:
    loaded = load_checkpoint(checkpoint)
    scheduler = Scheduler([engine])
    config = loaded.config.model_copy(update={"alignment": method})
    scheduler.start()
    try:
        yield WordAligner(config, loaded.tokenizer, scheduler.explanations), loaded.tokenizer
    finally:
        await scheduler.stop()


METHOD = AlignmentMethod(layer=1, head=2, position="reading", threshold=0.1)
BOTH = METHOD.model_copy(update={"both_directions": True, "symmetrisation": "intersection"})


class AttentionEngine(FakeEngine):
    """Attention of every target token to the source tokens, without the start symbol."""

    def __init__(self, *weights: list[float]) -> None:
        super().__init__()
        self._weights = weights

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        weights = np.zeros((1, 1, len(target_ids), len(source_ids)), dtype=np.float32)
        weights[0, 0, : len(self._weights), 1 : 1 + len(self._weights[0])] = self._weights
        return weights


@pytest.mark.parametrize(
    ("weights", "links", "guesses"),
    [
        ([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]], [(0, 0), (1, 1), (2, 2)], []),
        # A word linked only to punctuation gets the most probable word as a guess.
        ([[0.1, 0.2, 0.0], [0.0, 0.9, 0.0], [0.9, 0.0, 0.8]], [(1, 1), (2, 2)], [(0, 0)]),
        ([[0.0, 0.0, 0.9], [0.0, 0.9, 0.0], [0.0, 0.0, 0.8]], [(1, 1), (2, 2)], []),
    ],
)
async def test_words_go_with_words_and_marks_with_marks(
    tiny_checkpoint: Path, weights: list[list[float]], links: list[Link], guesses: list[Link]
) -> None:
    text = "the cat."
    pair = Bitext(text, text, "en", "fr", words(text), words(text))
    method = AlignmentMethod(threshold=0.3)
    async with aligning(tiny_checkpoint, AttentionEngine(*weights), method) as (aligner, codec):
        assert [len(codec.tokenize(word)) for word in ("the", " cat")] == [1, 1]
        assert await aligner.links_and_guesses(pair, Caller(None)) == (links, guesses)


@pytest.mark.parametrize("method", [METHOD, BOTH])
async def test_the_queue_gets_the_passes_that_the_method_needs(
    tiny_checkpoint: Path, method: AlignmentMethod
) -> None:
    engine, text = DiagonalEngine(), "the cat sees"
    async with aligning(tiny_checkpoint, engine, method) as (aligner, codec):
        produced = codec.encode_target(text)
        pair = Bitext(text, text, "en", "fr", words(text), words(text), produced)
        assert await aligner.links(pair, Caller(None)) == [(0, 0), (1, 1), (2, 2)]
    target = [token.id for token in codec.encode_target(text)]
    passes = [([token.id for token in codec.encode_source(text, "fr")], target)]
    if method.both_directions:
        passes.append(([token.id for token in codec.encode_source(text, "en")], target))
    assert engine.passes == passes
