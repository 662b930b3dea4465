"""Explains translations: attention and word alignment."""

import asyncio
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.concurrency.coroutines import turn_of_the_loop
from app.errors import AttentionTooLargeError
from app.scheduling.explanations import QueuedExplanations
from app.scheduling.fair_queue import Caller
from app.text.spans import Span, replace
from app.text.word_links import WordLink, WordLinks
from app.translation import answers
from app.translation.attention_view import AttentionView
from app.translation.segments.attempts import FACTS
from app.translation.segments.differences import differences
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from app.translation.word_aligner import WordAligner
from model.alignment.from_attention import Bitext
from model.checkpoint.config import CheckpointConfig
from model.text.text_codec import TextCodec
from model.text.words import words

MAX_ATTENTION_WEIGHTS = 2_000_000
"""Maximum attention weights of a response."""


@dataclass(slots=True)
class ExplanationOptions:
    """The explanations that a request selects.

    view       selection of attention; None: no weights
    alignment  whether to link words
    n_weights  attention weights of the segments counted so far
    """

    view: AttentionView | None = None
    alignment: bool = False
    n_weights: int = 0

    def count(self, segments: Iterable[Segment]) -> None:
        """Count further segments. Raises `AttentionTooLargeError` beyond the limit."""
        if self.view is None:
            return
        for one in segments:
            n_target, n_source = len(one.best.log_probs), len(one.source_ids)
            self.n_weights += self.view.n_weights(n_target, n_source)
        if self.n_weights > MAX_ATTENTION_WEIGHTS:
            raise AttentionTooLargeError(
                f"the response would have {self.n_weights:,} attention weights, the limit is "
                f"{MAX_ATTENTION_WEIGHTS:,}; select fewer layers or heads, or send fewer texts"
            )


class Explainer:
    """Explains the best renderings of segments with the engines that produced them.

    Its engine calls take turns as the given `Caller`. The segments must have tokens
    (`Segment.source_tokens`). Spans of stand-ins are reported as those of their placeholders.
    """

    def __init__(
        self, config: CheckpointConfig, codec: TextCodec, engines: QueuedExplanations
    ) -> None:
        self._engines = engines
        self._aligner = WordAligner(config, codec, engines)

    async def explain(
        self, text: SegmentedText, options: ExplanationOptions, caller: Caller
    ) -> list[answers.Segment]:
        """Explain every segment. Raises as `QueuedExplanations.explain`."""
        segments = zip(text.segments, text.targets, strict=True)
        return [await self.explain_segment(*one, options, caller) for one in segments]

    async def explain_segment(
        self, segment: Segment, target: Span, options: ExplanationOptions, caller: Caller
    ) -> answers.Segment:
        """Explain a segment with its rendering at `target` of the translation. As `explain`."""
        await turn_of_the_loop()  # a request may have ten thousand
        read, produced = segment.source_tokens or (), segment.renderings[0].tokens
        answer = answers.Segment(
            source=segment.span,
            target=target,
            source_tokens=[
                answers.SourceToken(token.piece, *segment.origin(Span(token.start, token.end)))
                for token in read
            ],
            target_tokens=[
                answers.TargetToken(
                    token.piece, *_placed(segment, Span(token.start, token.end), target), log_prob
                )
                for token, log_prob in zip(produced, segment.best.log_probs, strict=True)
            ],
        )
        if options.view:
            target_ids = [token.id for token in produced]
            weights = await self._engines.explain(
                segment.source_ids, target_ids, options.view.kind, caller
            )
            answer.attention = await asyncio.to_thread(options.view.show, weights)
        if options.alignment:
            pair = _bitext(segment)
            sources, targets = _words_of(pair, segment, target)
            answer.source_words, answer.target_words = list(sources), list(targets)
            answer.alignment = await self._aligner.links(pair, caller)
            if not FACTS.isdisjoint(segment.renderings[0].faults or ()):
                answer.faults = await asyncio.to_thread(_faults, segment, target) or None
        return answer

    async def word_links(self, text: SegmentedText, caller: Caller) -> WordLinks:
        """Link the words of the whole text and of its best translation.

        Untranslated words are linked to themselves. Raises as `QueuedExplanations.explain`.
        """
        answer = text.answer()
        links: list[WordLink] = []
        for segment, target in zip(text.segments, text.targets, strict=True):
            pair = _bitext(segment)
            sources, targets = _words_of(pair, segment, target)
            found, guesses = await self._aligner.links_and_guesses(pair, caller)
            links += [WordLink(sources[i], targets[j]) for i, j in found]
            links += [WordLink(sources[i], targets[j], True) for i, j in guesses]
        for word in _words(text.text, []):
            at = bisect_right(answer.spans, word.start, key=lambda span: span.end)
            if at == len(answer.spans) or word.end <= answer.spans[at].start:
                links.append(WordLink(word, answer.position_of(word)))
        return WordLinks(links)


def _faults(segment: Segment, target: Span) -> list[answers.Fault]:
    """Return where the facts of a segment and of its rendering at `target` differ."""
    read, rendering = segment.stand_ins.substitution, segment.renderings[0].text
    placeholders = (span.of(read.before) for span in read.spans)
    copied = [text for text in placeholders if text in rendering]
    return [
        answers.Fault(
            one.flag,
            [span.shifted(segment.span.start) for span in one.source],
            [span.shifted(target.start) for span in one.target],
        )
        for one in differences(read.before, rendering, segment.direction, copied, segment.names)
    ]


def _bitext(segment: Segment) -> Bitext:
    """Return source and translation, with stand-ins."""
    best = segment.renderings[0]
    source, target = segment.stand_ins.substitution, best.substitution
    return Bitext(
        source.after,
        target.before,
        *segment.direction,
        _words(source.after, source.positions),
        _words(target.before, target.spans),
        best.tokens,
        segment.source_tokens,
    )


def _placed(segment: Segment, span: Span, target: Span) -> Span:
    """Map a span of the best hypothesis to the translation."""
    return segment.position(span).shifted(target.start)


def _words_of(pair: Bitext, segment: Segment, target: Span) -> tuple[list[Span], list[Span]]:
    """Return the spans of a segment's words in the text, and of its rendering's words."""
    return (
        [segment.origin(Span(*word)) for word in pair.source_words],
        [_placed(segment, Span(*word), target) for word in pair.target_words],
    )


def _words(text: str, stand_ins: Sequence[Span]) -> list[Span]:
    """Split into words; a stand-in is one, without its inserted spaces."""
    masked = replace(text, stand_ins, [re.sub(r"\S", "x", span.of(text)) for span in stand_ins])
    return [Span(*word) for word in words(masked)]
