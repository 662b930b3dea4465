"""How probable a model finds a translation that is given, token by token."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import TextTooLongError
from app.scheduling.scheduler import Scheduler
from app.text.languages import Direction
from app.text.spans import Span, Substitution
from app.text.stand_ins import FAMILIES, StandIns
from app.translation.segment import Rendering, Segment
from app.wire.native import answers
from model.decoding.hypothesis import SearchOptions, finished_hypothesis
from model.text.text_codec import TextCodec


@dataclass(frozen=True)
class Scorer:
    """Scores pairs by one model. `max_tokens` that it reads or produces at once."""

    codec: TextCodec
    scheduler: Scheduler
    max_tokens: int

    async def score(
        self, text: str, translation: str, direction: Direction, options: SearchOptions
    ) -> Segment:
        """The pair as one segment, from which nothing is cut and in which nothing is replaced.

        Its translation is its rendering, as if a search had found it; the end of the sentence is
        scored, too. Raises `TextTooLongError`, and as `Scheduler.score`.
        """
        source_tokens = await asyncio.to_thread(self.codec.encode_source, text, direction[1])
        target_tokens = await asyncio.to_thread(self.codec.encode_target, translation)
        for side, tokens in (("text", source_tokens), ("translation", target_tokens)):
            if len(tokens) > self.max_tokens:
                raise TextTooLongError(
                    f"a {side} has {len(tokens):,} tokens; to be scored it may have "
                    f"{self.max_tokens:,}, the end of sentence and control symbols counted"
                )
        source_ids = [token.id for token in source_tokens]
        target_ids = [token.id for token in target_tokens]
        log_probs = await self.scheduler.score(source_ids, target_ids, options)
        found = finished_hypothesis(target_ids, log_probs.tolist(), self.codec.eos_id, options)
        return Segment(
            Span(0, len(text)),
            StandIns(text, [], FAMILIES[0]),
            source_ids,
            options,
            self.codec,
            source_tokens=source_tokens,
            renderings=[Rendering(found, Substitution(translation, [], []), target_tokens)],
            is_settled=True,
        )


def score_answer(
    model: str,
    direction: Direction,
    pairs: Sequence[Segment],
    explained: Sequence[answers.Segment],
) -> answers.ScoreAnswer:
    """What a request for these pairs is answered."""
    source, target = direction
    return answers.ScoreAnswer(
        model=model,
        scores=[
            answers.PairScore(
                source=source,
                target=target,
                score=pair.best.score,
                confidence=math.exp(math.fsum(pair.best.log_probs) / len(pair.best.log_probs)),
                segments=[shown],
            )
            for pair, shown in zip(pairs, explained, strict=True)
        ],
        usage=answers.Usage(
            characters=sum(len(one.stand_ins.text) + len(one.renderings[0].text) for one in pairs),
            source_tokens=sum(len(pair.source_ids) for pair in pairs),
            target_tokens=sum(len(pair.renderings[0].tokens) for pair in pairs),
        ),
    )
