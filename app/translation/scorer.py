"""How probable a model finds a translation that is given, token by token."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import TextTooLongError
from app.scheduling.scheduler import Scheduler
from app.text.languages import Direction
from app.wire.native.answers import PairScore, ScoreAnswer, Segment, Usage
from model.decoding.hypothesis import Hypothesis, SearchOptions, finished_hypothesis
from model.text.text_codec import TextCodec, Token


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A text and a translation of it, as the model reads and produces them.

    hypothesis  the translation as if a search had found it; its end of sentence is scored too
    """

    text: str
    translation: str
    source_tokens: Sequence[Token]
    target_tokens: Sequence[Token]
    hypothesis: Hypothesis


class Scorer:
    """Scores pairs by one model. `max_tokens` that it reads or produces at once."""

    def __init__(self, codec: TextCodec, scheduler: Scheduler, max_tokens: int) -> None:
        self._codec = codec
        self._scheduler = scheduler
        self._max_tokens = max_tokens

    async def score(
        self, text: str, translation: str, direction: Direction, options: SearchOptions
    ) -> ScoredPair:
        """One pass over the pair, which is taken as one sentence: nothing is cut or replaced.

        Raises `TextTooLongError`, and as `Scheduler.score`.
        """
        source_tokens = await asyncio.to_thread(self._codec.encode_source, text, direction[1])
        target_tokens = await asyncio.to_thread(self._codec.encode_target, translation)
        for side, tokens in (("text", source_tokens), ("translation", target_tokens)):
            if len(tokens) > self._max_tokens:
                raise TextTooLongError(
                    f"a {side} has {len(tokens):,} tokens; to be scored it may have "
                    f"{self._max_tokens:,}, the end of sentence and control symbols counted"
                )
        target_ids = [token.id for token in target_tokens]
        log_probs = await self._scheduler.score(
            [token.id for token in source_tokens], target_ids, options
        )
        hypothesis = finished_hypothesis(
            target_ids, log_probs.tolist(), self._codec.eos_id, options
        )
        return ScoredPair(text, translation, source_tokens, target_tokens, hypothesis)


def score_answer(
    model: str, direction: Direction, pairs: Sequence[ScoredPair], segments: Sequence[Segment]
) -> ScoreAnswer:
    """What a request for these pairs is answered."""
    source, target = direction
    return ScoreAnswer(
        model=model,
        scores=[
            PairScore(
                source=source,
                target=target,
                score=pair.hypothesis.score,
                confidence=math.exp(math.fsum(log_probs) / len(log_probs)),
                segments=[segment],
            )
            for pair, segment in zip(pairs, segments, strict=True)
            for log_probs in [pair.hypothesis.log_probs]
        ],
        usage=Usage(
            characters=sum(len(pair.text) + len(pair.translation) for pair in pairs),
            source_tokens=sum(len(pair.source_tokens) for pair in pairs),
            target_tokens=sum(len(pair.target_tokens) for pair in pairs),
        ),
    )
