"""Aligns words by the attention of a model in service."""

import asyncio

import numpy as np
from numpy.typing import NDArray

from app.scheduling.explanations import QueuedExplanations
from app.scheduling.fair_queue import Caller
from model.alignment.from_attention import (
    AlignmentMethod,
    Bitext,
    Link,
    pair_weights,
    passes,
    symmetrise,
)
from model.checkpoint.config import CheckpointConfig
from model.text.text_codec import TextCodec


class WordAligner:
    """Aligns by the checkpoint's method, else by the default one."""

    def __init__(
        self, config: CheckpointConfig, codec: TextCodec, engines: QueuedExplanations
    ) -> None:
        self._method = config.alignment or AlignmentMethod()
        self._max_length = config.transformer.max_length
        self._codec = codec
        self._engines = engines

    async def links(self, pair: Bitext, caller: Caller) -> list[Link]:
        """Return the links of a pair.

        Raises as `QueuedExplanations.explain`, and `InputError` if the source or the translation
        has more tokens than the model reads.
        """
        return self._links(await self._weights(pair, caller))

    async def links_and_guesses(
        self, pair: Bitext, caller: Caller
    ) -> tuple[list[Link], list[Link]]:
        """Links between words and between punctuation; for unlinked words, the likeliest ones.

        Raises as `links`.
        """
        weights = await self._weights(pair, caller) * _alike(pair)
        found = [(i, j) for i, j in self._links(weights) if weights[i, j]]
        linked = {i for i, _ in found}
        guesses = [
            (i, int(row.argmax())) for i, row in enumerate(weights) if i not in linked and row.any()
        ]
        return found, guesses

    def _links(self, weights: NDArray[np.float32]) -> list[Link]:
        return symmetrise(weights, self._method.symmetrisation, self._method.threshold)

    async def _weights(self, pair: Bitext, caller: Caller) -> NDArray[np.float32]:
        """Return the link weights of words [source words, target words]."""
        both = self._method.both_directions
        runs = await asyncio.to_thread(
            passes, self._codec, self._max_length, pair, both_directions=both
        )
        weights = [await self._engines.explain(*run.ids, "cross", caller) for run in runs]
        return await asyncio.to_thread(pair_weights, runs, weights, self._method)


def _alike(pair: Bitext) -> NDArray[np.bool_]:
    """[source words, target words]: whether both are words, or both are punctuation."""
    sides = ((pair.source, pair.source_words), (pair.target, pair.target_words))
    read, written = (
        np.array([any(map(str.isalnum, text[start:end])) for start, end in spans], dtype=np.bool_)
        for text, spans in sides
    )
    alike: NDArray[np.bool_] = read[:, None] == written[None, :]
    return alike
