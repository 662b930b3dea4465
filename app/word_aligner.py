"""Word alignments by the attention of a model in service, which the queue's engines tell."""

from __future__ import annotations

import asyncio

from app.scheduler import Scheduler
from model.alignment import AlignmentMethod, Bitext, Link, align, passes
from model.checkpoint_config import CheckpointConfig
from model.text_codec import TextCodec


class WordAligner:
    """Aligns as the checkpoint's configuration says, else as any model can."""

    def __init__(self, config: CheckpointConfig, codec: TextCodec, scheduler: Scheduler) -> None:
        self._method = config.alignment or AlignmentMethod()
        self._max_length = config.transformer.max_length
        self._codec = codec
        self._scheduler = scheduler

    async def links(self, pair: Bitext) -> list[Link]:
        """Which words of the pair translate each other. Raises as `Scheduler.explain`.

        `InputError` if the source or what was produced has more tokens than the model reads.
        """
        both = self._method.both_directions
        runs = await asyncio.to_thread(
            passes, self._codec, self._max_length, pair, both_directions=both
        )
        weights = [await self._scheduler.explain(*run.ids, "cross") for run in runs]
        return await asyncio.to_thread(align, runs, weights, self._method)
