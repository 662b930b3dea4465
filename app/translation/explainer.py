"""What the model saw as it produced an answer, and which words that links."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Sequence

from app.errors import AttentionTooLargeError
from app.scheduling.scheduler import Scheduler
from app.text.inline_tags import WordLink
from app.text.languages import Direction
from app.text.spans import Span, replace
from app.translation.attention_view import AttentionView
from app.translation.scorer import ScoredPair
from app.translation.segmented_text import Passage, Stretch
from app.translation.word_aligner import WordAligner
from app.wire.native.answers import AttentionWeights, Segment, SourceToken, TargetToken
from model.alignment.from_attention import Bitext
from model.checkpoint.config import CheckpointConfig
from model.decoding.hypothesis import Hypothesis
from model.text.text_codec import TextCodec, Token
from model.text.words import words


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
        if view:
            stretches = [stretch for passage in passages for stretch in passage.stretches]
            sizes = [(len(one.best.log_probs), len(one.source_ids)) for one in stretches]
            _check_size(view, sizes, max_weights)
        explained: list[list[Segment]] = []
        for passage in passages:
            places = zip(passage.stretches, passage.answer().places, strict=True)
            segments = [
                await self._segment(stretch, place, direction, view, alignment=alignment)
                for stretch, place in places
            ]
            explained.append(segments)
        return explained

    async def explain_given(
        self,
        pairs: Sequence[ScoredPair],
        direction: Direction,
        *,
        view: AttentionView | None,
        alignment: bool,
        max_weights: int,
    ) -> list[Segment]:
        """A segment for each pair, as `explain`."""
        if view:
            sizes = [(len(one.target_tokens), len(one.source_tokens)) for one in pairs]
            _check_size(view, sizes, max_weights)
        return [
            await self._given_segment(pair, direction, view, alignment=alignment) for pair in pairs
        ]

    async def word_links(self, passage: Passage, direction: Direction) -> list[WordLink]:
        """The words of the whole text and of the best answer that belong together.

        What was not translated belongs to itself. Raises as `Scheduler.explain`.
        """
        answer = passage.answer()
        links: list[WordLink] = []
        for stretch, place in zip(passage.stretches, answer.places, strict=True):
            pair = self._bitext(stretch, direction)
            read, written = _places(pair, stretch, place)
            found, guesses = await self._aligner.links_and_guesses(pair)
            links += [WordLink(read[source], written[target]) for source, target in found]
            links += [WordLink(read[source], written[target], True) for source, target in guesses]
        for word in _words(passage.text, []):
            at = bisect_right(answer.spans, word.start, key=lambda span: span.end)
            if at == len(answer.spans) or word.end <= answer.spans[at].start:
                links.append(WordLink(word, answer.place_of(word)))
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
        read_tokens = self._codec.encode_source(stretch.stand_ins.text, direction[1])
        _, produced = self._codec.decode_target(self.produced(stretch.best))
        sources = [stretch.origin(span) for span in _spans(read_tokens)]
        targets = [stretch.place(span).shifted(place.start) for span in _spans(produced)]
        segment = Segment(
            source=stretch.span,
            target=place,
            source_tokens=_source_tokens(read_tokens, sources),
            target_tokens=_target_tokens(produced, targets, stretch.best.log_probs),
        )
        if view:
            segment.attention = await self._attention(read_tokens, produced, view)
        if alignment:
            pair = self._bitext(stretch, direction)
            read, written = _places(pair, stretch, place)
            segment.source_words, segment.target_words = list(read), list(written)
            segment.alignment = await self._aligner.links(pair)
        return segment

    def _bitext(self, stretch: Stretch, direction: Direction) -> Bitext:
        """What was read and what was produced, with stand-ins."""
        lifted, put_back = stretch.stand_ins.substitution, stretch.renderings[0].substitution
        return Bitext(
            lifted.after,
            put_back.before,
            *direction,
            _words(lifted.after, lifted.places),
            _words(put_back.before, put_back.spans),
            self._codec.decode_target(self.produced(stretch.best))[1],
        )

    async def _given_segment(
        self,
        pair: ScoredPair,
        direction: Direction,
        view: AttentionView | None,
        *,
        alignment: bool,
    ) -> Segment:
        read, produced = pair.source_tokens, pair.target_tokens
        segment = Segment(
            source=(0, len(pair.text)),
            target=(0, len(pair.translation)),
            source_tokens=_source_tokens(read, _spans(read)),
            target_tokens=_target_tokens(produced, _spans(produced), pair.hypothesis.log_probs),
        )
        if view:
            segment.attention = await self._attention(read, produced, view)
        if alignment:
            source_words, target_words = _words(pair.text, []), _words(pair.translation, [])
            segment.source_words, segment.target_words = list(source_words), list(target_words)
            segment.alignment = await self._aligner.links(
                Bitext(
                    pair.text, pair.translation, *direction, source_words, target_words, produced
                )
            )
        return segment

    async def _attention(
        self, read: Sequence[Token], produced: Sequence[Token], view: AttentionView
    ) -> AttentionWeights:
        source_ids, target_ids = ([token.id for token in tokens] for tokens in (read, produced))
        weights = await self._scheduler.explain(source_ids, target_ids, view.kind)
        return await asyncio.to_thread(view.show, weights)

    def produced(self, hypothesis: Hypothesis) -> list[int]:
        """A hypothesis's tokens with the end-of-sentence token, if it got that far."""
        end = [] if hypothesis.capped else [self._codec.eos_id]
        return [*hypothesis.ids, *end]


def _check_size(view: AttentionView, sizes: Sequence[tuple[int, int]], max_weights: int) -> None:
    """For pairs of that many target and source tokens. Raises `AttentionTooLargeError`."""
    n_weights = sum(view.n_weights(n_target, n_source) for n_target, n_source in sizes)
    if n_weights > max_weights:
        raise AttentionTooLargeError(
            f"the answer would hold {n_weights:,} attention weights, {max_weights:,} are allowed; "
            "ask for fewer layers or heads, or send fewer texts"
        )


def _spans(tokens: Sequence[Token]) -> list[Span]:
    return [Span(token.start, token.end) for token in tokens]


def _source_tokens(tokens: Sequence[Token], spans: Sequence[Span]) -> list[SourceToken]:
    return [
        SourceToken(piece=token.piece, start=span.start, end=span.end)
        for token, span in zip(tokens, spans, strict=True)
    ]


def _target_tokens(
    tokens: Sequence[Token], spans: Sequence[Span], log_probs: Sequence[float]
) -> list[TargetToken]:
    return [
        TargetToken(piece=token.piece, start=span.start, end=span.end, log_prob=log_prob)
        for token, span, log_prob in zip(tokens, spans, log_probs, strict=True)
    ]


def _places(pair: Bitext, stretch: Stretch, place: Span) -> tuple[list[Span], list[Span]]:
    """Where the words of a stretch are in the text, and those of its translation in the answer."""
    return (
        [stretch.origin(Span(*word)) for word in pair.source_words],
        [stretch.place(Span(*word)).shifted(place.start) for word in pair.target_words],
    )


def _words(text: str, stand_ins: Sequence[Span]) -> list[Span]:
    """The words of a text, a stand-in being one, without the blanks put beside it."""
    masked = replace(text, stand_ins, [re.sub(r"\S", "x", span.of(text)) for span in stand_ins])
    return [Span(*word) for word in words(masked)]
