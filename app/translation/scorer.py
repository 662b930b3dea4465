"""Scores given translations with a model, token by token."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.concurrency.threads import check_abandoned, in_thread
from app.errors import TextTooLongError
from app.languages.served import Direction
from app.observe.timings import Timings
from app.scheduling.explanations import QueuedExplanations
from app.scheduling.fair_queue import Caller
from app.text.spans import Span, Substitution
from app.text.stand_ins import FAMILIES, StandIns
from app.translation import answers
from app.translation.segments.segment import Rendering, Segment
from app.translation.segments.segmented_text import MAX_TOKEN_CHARACTERS
from model.decoding.hypothesis import SearchOptions, finished_hypothesis
from model.text.text_codec import TextCodec, Token


@dataclass(frozen=True)
class Scorer:
    """Scores pairs with one model; `max_tokens` is its limit per side."""

    codec: TextCodec
    engines: QueuedExplanations
    max_tokens: int

    async def score(
        self,
        pairs: Sequence[tuple[str, str]],
        direction: Direction,
        options: SearchOptions,
        *,
        caller: Caller,
        timings: Timings,
    ) -> list[Segment]:
        """Return each pair as one segment, which is not split and in which nothing is replaced.

        Its rendering is the given translation, with the end of the sentence. Raises
        `TextTooLongError`, and as `QueuedExplanations.score`.
        """
        with timings.measure("tokenize"):
            encoded = await in_thread(lambda: [self._encode(*pair, direction) for pair in pairs])
        ids = [([one.id for one in read], [one.id for one in written]) for read, written in encoded]
        with timings.measure("decode"):
            scored = await self.engines.score(ids, options, caller)
        return await in_thread(
            lambda: [
                self._segment(*one, direction, options)
                for one in zip(pairs, encoded, [each.tolist() for each in scored], strict=True)
            ]
        )

    def _segment(
        self,
        pair: tuple[str, str],
        tokens: tuple[Sequence[Token], Sequence[Token]],
        log_probs: list[float],
        direction: Direction,
        options: SearchOptions,
    ) -> Segment:
        (text, translation), (source_tokens, target_tokens) = pair, tokens
        target_ids = [token.id for token in target_tokens]
        hypothesis = finished_hypothesis(target_ids, log_probs, self.codec.eos_id, options)
        unchanged = Substitution(translation, [], [])
        return Segment(
            Span(0, len(text)),
            StandIns(text, [], FAMILIES[0]),
            [token.id for token in source_tokens],
            options,
            self.codec,
            direction,
            source_tokens=source_tokens,
            renderings=[Rendering(hypothesis, unchanged, translation, tokens=target_tokens)],
            is_settled=True,
            is_accepted=True,
        )

    def _encode(
        self, text: str, translation: str, direction: Direction
    ) -> tuple[Sequence[Token], Sequence[Token]]:
        check_abandoned()
        source, target = direction
        limit = f"the limit for scoring is {self.max_tokens:,}"
        for side, characters in (("text", text), ("translation", translation)):
            if len(characters) > self.max_tokens * MAX_TOKEN_CHARACTERS:
                raise TextTooLongError(
                    f"a {side} has {len(characters):,} characters; {limit} tokens"
                )
        source_tokens = self.codec.encode_source(text, target, source)
        target_tokens = self.codec.encode_target(translation, target)
        for side, tokens in (("text", source_tokens), ("translation", target_tokens)):
            if len(tokens) > self.max_tokens:
                raise TextTooLongError(
                    f"a {side} has {len(tokens):,} tokens; {limit}, including the end of sentence "
                    f"and control symbols"
                )
        return source_tokens, target_tokens


def score_answer(
    model: str,
    direction: Direction,
    pairs: Sequence[Segment],
    explained: Sequence[answers.Segment],
) -> answers.ScoreAnswer:
    """Return the response for scored pairs."""
    source, target = direction
    return answers.ScoreAnswer(
        model=model,
        scores=[
            answers.PairScore(
                source=source,
                target=target,
                score=pair.best.score,
                confidence=math.exp(math.fsum(pair.best.log_probs) / len(pair.best.log_probs)),
                segments=[segment],
            )
            for pair, segment in zip(pairs, explained, strict=True)
        ],
        usage=answers.Usage(
            characters=sum(len(one.stand_ins.text) + len(one.renderings[0].text) for one in pairs),
            source_tokens=sum(len(pair.source_ids) for pair in pairs),
            target_tokens=sum(len(pair.renderings[0].tokens) for pair in pairs),
        ),
    )
