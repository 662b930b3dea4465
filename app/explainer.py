"""What the model saw as it produced an answer, and which words that links."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence

from app.attention_view import AttentionView
from app.errors import AttentionTooLargeError
from app.inline_tags import WordLink
from app.languages import Direction
from app.passage import Passage, Stretch
from app.scheduler import Scheduler
from app.schemas import Segment, SourceToken, TargetToken
from app.spans import Span, replace
from app.word_aligner import WordAligner
from model.alignment import Bitext
from model.checkpoint_config import CheckpointConfig
from model.decoding.hypothesis import Hypothesis
from model.text_codec import TextCodec
from model.words import words


class Explainer:
    """Explains the best answers of passages with the engines that gave them.

    Where the model read a stand-in, the placeholder's place is told.
    """

    def __init__(self, config: CheckpointConfig, codec: TextCodec, scheduler: Scheduler) -> None:
        self._codec = codec
        self._scheduler = scheduler
        self._aligner = WordAligner(config, codec, scheduler)

    async def explain(
        self,
        passages: Sequence[Passage],
        direction: Direction,
        *,
        view: AttentionView | None,
        alignment: bool,
        max_weights: int,
    ) -> list[list[Segment]]:
        """A segment for every stretch of each, with what is asked for.

        Raises `AttentionTooLargeError`, and as `Scheduler.explain`.
        """
        n_weights = sum(
            view.n_weights(len(stretch.best.log_probs), len(stretch.tokens))
            for passage in passages
            for stretch in passage.stretches
            if view
        )
        if n_weights > max_weights:
            raise AttentionTooLargeError(
                f"the answer would hold {n_weights:,} attention weights, "
                f"{max_weights:,} are allowed; "
                "ask for fewer layers or heads, or send fewer texts"
            )
        explained: list[list[Segment]] = []
        for passage in passages:
            places = zip(passage.stretches, passage.answer().places, strict=True)
            segments = [
                await self._segment(stretch, place, direction, view, alignment=alignment)
                for stretch, place in places
            ]
            explained.append(segments)
        return explained

    async def word_links(self, passage: Passage, direction: Direction) -> list[WordLink]:
        """The words of the whole text and of the best answer that belong together.

        What was not translated belongs to itself. Raises as `Scheduler.explain`.
        """
        [segments] = await self.explain(
            [passage], direction, view=None, alignment=True, max_weights=0
        )
        links: list[WordLink] = []
        for segment in segments:
            read, written = segment.source_words or [], segment.target_words or []
            links += [
                (Span(*read[source]), Span(*written[target]))
                for source, target in segment.alignment or []
            ]
        answer = passage.answer()
        for word in _words(passage.text, []):
            at = bisect_right(answer.spans, word.start, key=lambda span: span.end)
            if at == len(answer.spans) or word.end <= answer.spans[at].start:
                links.append((word, answer.place_of(word)))
        return links

    async def _segment(
        self,
        stretch: Stretch,
        place: Span,
        direction: Direction,
        view: AttentionView | None,
        *,
        alignment: bool,
    ) -> Segment:
        _, produced = self._codec.decode_target(self._produced(stretch.best))
        sources = [stretch.origin(Span(token.start, token.end)) for token in stretch.tokens]
        targets = [
            stretch.place(Span(token.start, token.end)).shifted(place.start) for token in produced
        ]
        segment = Segment(
            source=stretch.span,
            target=place,
            source_tokens=[
                SourceToken(piece=token.piece, start=span.start, end=span.end)
                for token, span in zip(stretch.tokens, sources, strict=True)
            ],
            target_tokens=[
                TargetToken(piece=token.piece, start=span.start, end=span.end, log_prob=log_prob)
                for token, span, log_prob in zip(
                    produced, targets, stretch.best.log_probs, strict=True
                )
            ],
        )
        if view:
            source_ids = [token.id for token in stretch.tokens]
            target_ids = [token.id for token in produced]
            weights = await self._scheduler.explain(source_ids, target_ids, view.kind)
            segment.attention = await asyncio.to_thread(view.show, weights)
        if alignment:
            lifted, put_back = stretch.stand_ins.substitution, stretch.renderings[0].substitution
            read = _words(lifted.after, lifted.places)
            written = _words(put_back.before, put_back.spans)
            segment.source_words = [stretch.origin(word) for word in read]
            segment.target_words = [stretch.place(word).shifted(place.start) for word in written]
            segment.alignment = await self._aligner.links(
                Bitext(lifted.after, put_back.before, *direction, read, written, produced)
            )
        return segment

    def _produced(self, hypothesis: Hypothesis) -> list[int]:
        """A hypothesis's tokens with the end-of-sentence token, if it got that far."""
        end = [] if hypothesis.capped else [self._codec.eos_id]
        return [*hypothesis.ids, *end]


def _words(text: str, stand_ins: Sequence[Span]) -> list[Span]:
    """The words of a text, a stand-in being one."""
    masked = replace(text, stand_ins, ["x" * (end - start) for start, end in stand_ins])
    return [Span(*word) for word in words(masked)]
