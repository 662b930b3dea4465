"""Explains translations: attention and word alignment."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.errors import AttentionTooLargeError
from app.languages.served import Direction
from app.scheduling.explanations import QueuedExplanations
from app.scheduling.fair_queue import Caller
from app.text.spans import Span, replace
from app.text.word_links import WordLink, WordLinks
from app.translation import answers
from app.translation.attention_view import AttentionView
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from app.translation.word_aligner import WordAligner
from model.alignment.from_attention import Bitext
from model.checkpoint.config import CheckpointConfig
from model.text.text_codec import TextCodec, Token
from model.text.words import words


@dataclass(slots=True)
class ExplanationOptions:
    """The explanations that a request selects.

    view         selection of attention; None: no weights
    alignment    whether to link words
    max_weights  limit per response
    n_weights    those of the segments counted so far
    """

    view: AttentionView | None
    alignment: bool
    max_weights: int
    n_weights: int = 0

    def count(self, segments: Iterable[Segment]) -> None:
        """Count further segments. Raises `AttentionTooLargeError` beyond the limit."""
        if self.view is None:
            return
        for one in segments:
            n_target, n_source = len(one.best.log_probs), len(one.source_ids)
            self.n_weights += self.view.n_weights(n_target, n_source)
        if self.n_weights > self.max_weights:
            raise AttentionTooLargeError(
                f"the response would have {self.n_weights:,} attention weights, the limit is "
                f"{self.max_weights:,}; select fewer layers or heads, or send fewer texts"
            )


class Explainer:
    """Explains the best renderings of segments with the engines that produced them.

    Its calls wait for the turns of the request that asks, `caller`.

    The segments must have tokens (`Segment.source_tokens`). Spans of stand-ins are reported as
    those of their placeholders.
    """

    def __init__(
        self, config: CheckpointConfig, codec: TextCodec, engines: QueuedExplanations
    ) -> None:
        self._engines = engines
        self._aligner = WordAligner(config, codec, engines)

    async def explain(
        self, text: SegmentedText, direction: Direction, options: ExplanationOptions, caller: Caller
    ) -> list[answers.Segment]:
        """Explain every segment. Raises as `QueuedExplanations.explain`."""
        places = zip(text.segments, text.answer().positions, strict=True)
        return [await self._segment(*one, direction, options, caller) for one in places]

    async def explain_pair(
        self, pair: Segment, direction: Direction, options: ExplanationOptions, caller: Caller
    ) -> answers.Segment:
        """Explain a scored pair."""
        whole = Span(0, len(pair.renderings[0].text))
        return await self._segment(pair, whole, direction, options, caller)

    async def _segment(
        self,
        segment: Segment,
        place: Span,
        direction: Direction,
        options: ExplanationOptions,
        caller: Caller,
    ) -> answers.Segment:
        """Explain a segment whose rendering is at `place` of the translation."""
        read, produced = segment.source_tokens or (), segment.renderings[0].tokens
        sources = [segment.origin(span) for span in _spans(read)]
        targets = [segment.place(span).shifted(place.start) for span in _spans(produced)]
        answer = answers.Segment(
            source=segment.span,
            target=place,
            source_tokens=[
                answers.SourceToken(piece=token.piece, start=span.start, end=span.end)
                for token, span in zip(read, sources, strict=True)
            ],
            target_tokens=[
                answers.TargetToken(
                    piece=token.piece, start=span.start, end=span.end, log_prob=log_prob
                )
                for token, span, log_prob in zip(
                    produced, targets, segment.best.log_probs, strict=True
                )
            ],
        )
        if options.view:
            target_ids = [token.id for token in produced]
            weights = await self._engines.explain(
                segment.source_ids, target_ids, options.view.kind, caller
            )
            answer.attention = await asyncio.to_thread(options.view.show, weights)
        if options.alignment:
            pair = _bitext(segment, direction)
            read_words, written_words = _places(pair, segment, place)
            answer.source_words, answer.target_words = list(read_words), list(written_words)
            answer.alignment = await self._aligner.links(pair, caller)
        return answer

    async def word_links(
        self, text: SegmentedText, direction: Direction, caller: Caller
    ) -> WordLinks:
        """Link the words of the whole text and of its best translation.

        Untranslated words are linked to themselves. Raises as `QueuedExplanations.explain`.
        """
        answer = text.answer()
        links: list[WordLink] = []
        for segment, place in zip(text.segments, answer.positions, strict=True):
            pair = _bitext(segment, direction)
            read, written = _places(pair, segment, place)
            found, guesses = await self._aligner.links_and_guesses(pair, caller)
            links += [WordLink(read[source], written[target]) for source, target in found]
            links += [WordLink(read[source], written[target], True) for source, target in guesses]
        for word in _words(text.text, []):
            at = bisect_right(answer.spans, word.start, key=lambda span: span.end)
            if at == len(answer.spans) or word.end <= answer.spans[at].start:
                links.append(WordLink(word, answer.position_of(word)))
        return WordLinks(links)


def _bitext(segment: Segment, direction: Direction) -> Bitext:
    """Return source and translation, with stand-ins."""
    best = segment.renderings[0]
    lifted, restored = segment.stand_ins.substitution, best.substitution
    return Bitext(
        lifted.after,
        restored.before,
        *direction,
        _words(lifted.after, lifted.positions),
        _words(restored.before, restored.spans),
        best.tokens,
        segment.source_tokens,
    )


def _spans(tokens: Sequence[Token]) -> list[Span]:
    return [Span(token.start, token.end) for token in tokens]


def _places(pair: Bitext, segment: Segment, place: Span) -> tuple[list[Span], list[Span]]:
    """Return the spans of a segment's words in the text, and of its translation's words."""
    return (
        [segment.origin(Span(*word)) for word in pair.source_words],
        [segment.place(Span(*word)).shifted(place.start) for word in pair.target_words],
    )


def _words(text: str, stand_ins: Sequence[Span]) -> list[Span]:
    """Split into words; a stand-in is one, without its inserted spaces."""
    moptions = replace(text, stand_ins, [re.sub(r"\S", "x", span.of(text)) for span in stand_ins])
    return [Span(*word) for word in words(moptions)]
