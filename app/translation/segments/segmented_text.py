"""Splits a text into segments for a model, and joins their translations."""

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from operator import mul
from typing import Literal

from app.concurrency.threads import check_abandoned
from app.text.flags import MIN_SHARE_COPIED, Flag
from app.text.segmentation import each_segment, joint, split_to_fit
from app.text.spans import Span, Substitution, clipped, replace
from app.translation.segments.attempts import best_so_far, next_step
from app.translation.segments.layout import Layout
from app.translation.segments.reading import Reading
from app.translation.segments.segment import PLAIN, Form, Segment

MAX_TOKEN_CHARACTERS = 32
"""Maximum characters of ordinary text in a token: twice the longest piece of usual vocabularies."""

_WORD = re.compile(r"[^\W\d_]+")

Reason = Literal["placeholders", "glossary", "numbers"]
"""Why a segment was searched again."""


class SegmentedText:
    """A text, split into `segments`; the text between them is unchanged.

    The caller searches for the `pending` segments until there are none. A translation that lost a
    placeholder, or most other words, is retried with other stand-ins, and then without the
    placeholder, which stays between two segments; one without a term or with other numbers is
    retried as well (`attempts`). `retried` counts the retries by reason.
    """

    def __init__(
        self,
        text: str,
        reading: Reading,
        *,
        with_tokens: bool = False,
        layout: Layout | None = None,
    ) -> None:
        layout = layout or Layout.of(text, reading)
        self.text = text
        self.retried: dict[Reason, int] = defaultdict(int)
        self._reading = reading
        self._with_tokens = with_tokens or reading.with_tokens
        self._kept = layout.kept
        self._whole = sorted([*self._kept.spans, *layout.unbroken])
        self._continues = layout.continues
        self._is_cut_short = False
        self._answers: dict[int, Substitution] = {}
        self.segments: list[Segment] = [
            segment for span in layout.sentences for segment in self._fitting(span)
        ]

    def pending(self) -> list[Segment]:
        """Return the segments to search for, after `review`."""
        self.review()
        return self.unsettled

    @property
    def unsettled(self) -> list[Segment]:
        """The segments whose search is not over."""
        return [segment for segment in self.segments if not segment.is_settled]

    @property
    def needs_review(self) -> bool:
        """Whether a search has ended whose result is not accepted yet."""
        return any(segment.is_settled and not segment.is_accepted for segment in self.segments)

    def review(self) -> None:
        """Accept the best searches, and replace segments whose search was not good enough.

        This may take as long as reading the text did, since replacements are tokenised.
        """
        if self.needs_review:
            self.segments = [
                other for segment in self.segments for other in self._reviewed(segment)
            ]

    def give_up(self) -> bool:
        """Accept the best results so far; return False, and change nothing, if some are missing."""
        best = [best_so_far(segment) for segment in self.segments]
        found = [one for one in best if one is not None]
        if len(found) < len(best):
            return False
        self.segments = [_accepted(one) for one in found]
        return True

    def answer(self, rank: int = 0) -> Substitution:
        """Return the text with each segment's rendering of a rank, or its last one.

        All segments must be accepted. A space between them that the target's language adds or drops
        is a replaced span, too.
        """
        if rank not in self._answers:
            spans: list[Span] = []
            texts: list[str] = []
            end = 0
            for segment in self.segments:
                between = Span(end, segment.span.start)
                joined = self.joined(between)
                if joined != between.of(self.text):
                    spans.append(between)
                    texts.append(joined)
                spans.append(segment.span)
                texts.append(segment.ranked(rank).text)
                end = segment.span.end
            self._answers[rank] = Substitution(self.text, spans, texts)
        return self._answers[rank]

    def joined(self, between: Span) -> str:
        """Return what the translation has instead of the text between two segments."""
        text = between.of(self.text)
        return joint(text, *self._reading.direction) if between.start or self._continues else text

    @property
    def targets(self) -> list[Span]:
        """The spans of the segments in the best answer."""
        answer = self.answer()
        if len(answer.positions) == len(self.segments):
            return list(answer.positions)
        own = {segment.span for segment in self.segments}
        pairs = zip(answer.spans, answer.positions, strict=True)
        return [target for source, target in pairs if source in own]

    @property
    def n_answers(self) -> int:
        return max((len(segment.renderings) for segment in self.segments), default=1)

    def score(self, rank: int = 0) -> float:
        """Mean score of the segments, weighted by the tokens of the best; 0 if none."""
        scores = [segment.ranked(rank).hypothesis.score for segment in self.segments]
        if len(scores) < 2:
            return sum(scores)
        weights = [len(segment.best.log_probs) for segment in self.segments]
        return math.fsum(map(mul, weights, scores)) / sum(weights)

    @property
    def log_probs(self) -> list[float]:
        return [one for segment in self.segments for one in segment.best.log_probs]

    @property
    def n_source_tokens(self) -> int:
        """Number of source tokens, including control symbols."""
        return sum(len(segment.source_ids) for segment in self.segments)

    @property
    def flags(self) -> list[Flag]:
        """Flags of the best translation: those of any segment."""
        flags = self.flags_of_segments
        if self._kept.foreign and is_mostly_foreign(*self.word_counts):
            flags.add("copied_source")
        return sorted(flags)

    @property
    def flags_of_segments(self) -> set[Flag]:
        """Flags of the best translation, except those of the whole text."""
        flags: set[Flag] = {flag for segment in self.segments for flag in segment.flags()}
        if self._is_cut_short:
            flags.add("truncated")
        return flags

    @property
    def word_counts(self) -> tuple[int, int]:
        """Number of words, and of those that the model could read."""
        foreign = self._kept.foreign
        n_words = len(_WORD.findall(self.text))
        if not foreign:
            return n_words, n_words
        return n_words, len(_WORD.findall(replace(self.text, foreign, [" "] * len(foreign))))

    def _fitting(self, span: Span, family: int = 0) -> list[Segment]:
        """Split a span into segments that the model can read."""
        check_abandoned()
        made: dict[Span, Segment] = {}
        limit = self._reading.max_tokens
        form = Form(family) if family else PLAIN

        def n_tokens(piece: Span) -> int:
            if self._is_far_too_long(piece):
                return limit + 1
            segment = self._segment(piece, form)
            if len(segment.source_ids) <= limit:
                made[piece] = segment
            return len(segment.source_ids)

        pieces = split_to_fit(self.text, span, n_tokens, limit, self._whole)
        found = (made.get(piece) or self._segment(piece, form) for piece in pieces)
        fitting = [segment for segment in found if self._has_words(segment)]
        readable = [one for one in fitting if len(one.source_ids) <= limit]
        self._is_cut_short |= len(readable) < len(fitting)
        return readable

    def _is_far_too_long(self, piece: Span) -> bool:
        """Whether a piece has too many tokens in any case, so that it need not be tokenised."""
        most = MAX_TOKEN_CHARACTERS * self._reading.max_tokens
        if piece.end - piece.start <= most:
            return False
        covered = sum(end - start for start, end in clipped(self._kept.spans, piece))
        return piece.end - piece.start - covered > most

    def _segment(self, span: Span, form: Form, earlier: Sequence[Segment] = ()) -> Segment:
        kept = [one.shifted(-span.start) for one in clipped(self._kept.spans, span)]
        return self._reading.segment(
            span, span.of(self.text), kept, form, with_tokens=self._with_tokens, earlier=earlier
        )

    def _has_words(self, segment: Segment) -> bool:
        has_pieces = len(segment.source_ids) > self._reading.codec.n_control_tokens
        return has_pieces and any(map(str.isalpha, segment.stand_ins.rest))

    def _reviewed(self, segment: Segment) -> list[Segment]:
        """Return what replaces a segment: itself, an earlier search, or another attempt."""
        while segment.is_settled and not segment.is_accepted:
            check_abandoned()
            step = next_step(segment)
            if step is None:
                return self._without_placeholders(segment.span)
            if isinstance(step, Segment):
                return [_accepted(step)]
            self.retried[_reason(step.form)] += 1
            if not step.earlier:
                return self._fitting(segment.span, step.form.family)
            segment = self._segment(segment.span, step.form, step.earlier)
            if len(segment.source_ids) > self._reading.max_tokens:
                segment.settle([])
        return [segment]

    def _without_placeholders(self, whole: Span) -> list[Segment]:
        """Return the segments between the placeholders of a span."""
        found: list[Segment] = []
        start = whole.start
        end_mark = Span(whole.end, whole.end)
        source_language, _ = self._reading.direction
        for placeholder in [*clipped(self._kept.spans, whole), end_mark]:
            between = self.text[start : placeholder.start]
            for span in each_segment(between, source_language, "off"):
                found += self._fitting(span.shifted(start))
            start = placeholder.end
        return found


def is_mostly_foreign(n_words: int, n_read: int) -> bool:
    """Whether a model could read too few words for the translation to be more than a copy."""
    return n_words > n_read and n_words - n_read >= MIN_SHARE_COPIED * n_words


def _accepted(segment: Segment) -> Segment:
    segment.is_accepted = True
    return segment


def _reason(form: Form) -> Reason:
    if form.numbers:
        return "numbers"
    return "placeholders" if form.is_first else "glossary"
