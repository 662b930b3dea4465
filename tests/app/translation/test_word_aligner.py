from collections.abc import Sequence
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
from model.text.words import words
from tests.app.fake_engine import FakeEngine


class Translating(FakeEngine):
    """Head 2 of layer 1 knows that the n-th token comes of the n-th, and knows it when it reads."""

    asked: list[tuple[list[int], list[int]]]

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        assert kind == "cross"
        self.asked = [*getattr(self, "asked", []), (list(source_ids), list(target_ids))]
        weights = np.full((2, 4, len(target_ids), len(source_ids)), 0.01, dtype=np.float32)
        for token in range(len(target_ids) - 1):
            weights[1, 2, token + 1, min(token + 1, len(source_ids) - 1)] = 1
        return weights


KNOWING = AlignmentMethod(layer=1, head=2, position="reading", threshold=0.1)
BOTH = KNOWING.model_copy(update={"both_directions": True, "symmetrisation": "intersection"})


class Weighing(FakeEngine):
    """Every target token came of the source tokens in these shares, the start symbol left out."""

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
        # A word linked to the mark alone is linked to none, and the likeliest is guessed.
        ([[0.1, 0.2, 0.0], [0.0, 0.9, 0.0], [0.9, 0.0, 0.8]], [(1, 1), (2, 2)], [(0, 0)]),
        ([[0.0, 0.0, 0.9], [0.0, 0.9, 0.0], [0.0, 0.0, 0.8]], [(1, 1), (2, 2)], []),
    ],
)
async def test_words_go_with_words_and_marks_with_marks(
    tiny_checkpoint: Path, weights: list[list[float]], links: list[Link], guesses: list[Link]
) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    text = "the cat."
    pair = Bitext(text, text, "en", "fr", words(text), words(text))
    assert [len(loaded.tokenizer.tokenize(word)) for word in ("the", " cat")] == [1, 1]
    method = AlignmentMethod(threshold=0.3)
    scheduler = Scheduler([Weighing(*weights)])
    aligner = WordAligner(
        loaded.config.model_copy(update={"alignment": method}),
        loaded.tokenizer,
        scheduler.explanations,
    )
    scheduler.start()
    try:
        assert await aligner.links_and_guesses(pair, Caller(None)) == (links, guesses)
    finally:
        await scheduler.stop()


@pytest.mark.parametrize("method", [KNOWING, BOTH])
async def test_the_queue_is_asked_for_the_passes_that_the_method_needs(
    tiny_checkpoint: Path, method: AlignmentMethod
) -> None:
    loaded = load_checkpoint(tiny_checkpoint)
    engine = Translating()
    scheduler = Scheduler([engine])
    aligner = WordAligner(
        loaded.config.model_copy(update={"alignment": method}),
        loaded.tokenizer,
        scheduler.explanations,
    )
    codec, text = loaded.tokenizer, "the cat sees"
    scheduler.start()
    try:
        found = await aligner.links(
            Bitext(text, text, "en", "fr", words(text), words(text), codec.encode_target(text)),
            Caller(None),
        )
    finally:
        await scheduler.stop()
    expected: list[Link] = [(0, 0), (1, 1), (2, 2)]
    assert found == expected
    target = [token.id for token in codec.encode_target(text)]
    asked = [([token.id for token in codec.encode_source(text, "fr")], target)]
    if method.both_directions:
        asked.append(([token.id for token in codec.encode_source(text, "en")], target))
    assert engine.asked == asked
