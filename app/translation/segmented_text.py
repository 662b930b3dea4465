"""Splits a text into segments for a model, and joins their translations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import mul

from app.text.flags import Flag
from app.text.glossary import NO_GLOSSARY, Glossary, Term
from app.text.languages import Direction
from app.text.placeholders import find_placeholders
from app.text.segmentation import Split, segments, split_to_fit
from app.text.spans import Span, Substitution, within
from app.text.stand_ins import FAMILIES, StandIns
from app.translation.glossary_constraints import TermSpeller
from app.translation.segment import Segment
from model.decoding.hypothesis import SearchOptions
from model.text.text_codec import TextCodec


@dataclass(frozen=True, slots=True)
class Reading:
    """How the texts of a request are prepared for a model, and its search options.

    max_tokens   the model's limit, including control symbols; longer segments are split
    glossary     terms to find; terms of several words are not split
    speller      spells its terms
    with_tokens  whether the spans of tokens are needed, for explanations and tags
    """

    codec: TextCodec
    direction: Direction
    max_tokens: int
    options: SearchOptions
    split: Split = "sentences"
    glossary: Glossary = NO_GLOSSARY
    speller: TermSpeller | None = None
    with_tokens: bool = False

    def segment(
        self,
        span: Span,
        text: str,
        placeholders: Sequence[Span],
        family: int,
        *,
        with_tokens: bool = False,
    ) -> Segment:
        """Return a segment for a span, tokenised with stand-ins for the given placeholders."""
        stand_ins = StandIns(text, placeholders, FAMILIES[family])
        target, tokens = self.direction[1], None
        if with_tokens:
            tokens = self.codec.encode_source(stand_ins.text, target)
            ids = [token.id for token in tokens]
        else:
            ids = self.codec.source_ids(stand_ins.text, target)
        terms = self.glossary.find(stand_ins.text, stand_ins.substitution.places)
        options = self._options(bool(placeholders), terms)
        return Segment(span, stand_ins, ids, options, self.codec, family, terms, tokens)

    def _options(self, holds_placeholders: bool, terms: Sequence[Term]) -> SearchOptions:
        """Return search options: all hypotheses with placeholders, constraints with terms."""
        options = self.options
        if holds_placeholders:
            options = replace(options, n_best=options.beam_size)
        if terms and self.speller:
            options = replace(options, constraints=self.speller.constraints(terms))
        return options


class SegmentedText:
    """A text, split into `segments`; the text between them is unchanged.

    The caller searches for the `pending` segments until there are none: a translation that lost a
    placeholder, or most other words, is retried with other stand-ins, and then without the
    placeholder, which stays between two segments.
    """

    def __init__(self, text: str, reading: Reading, *, with_tokens: bool = False) -> None:
        self.text = text
        self._reading = reading
        self._with_tokens = with_tokens or reading.with_tokens
        self._placeholders = find_placeholders(text)
        self._unbroken = [
            term.span
            for term in reading.glossary.find(text, self._placeholders)
            if term.n_words > 1 and len(term.span.of(text).splitlines()) == 1
        ]
        self._is_cut_short = False
        self._answers: dict[int, Substitution] = {}
        source_language, _ = reading.direction
        self.segments: list[Segment] = [
            segment
            for span in segments(
                text, source_language, reading.split, self._placeholders, self._unbroken
            )
            for segment in self._fitting(span, family=0)
        ]

    def pending(self) -> list[Segment]:
        """Return the segments to search for, replacing those without an acceptable hypothesis."""
        if any(segment.is_settled and not segment.renderings for segment in self.segments):
            self.segments = [
                other for segment in self.segments for other in self._another_way(segment)
            ]
        return [segment for segment in self.segments if not segment.is_settled]

    @property
    def is_answered(self) -> bool:
        """Whether every segment has a rendering."""
        return all(segment.renderings for segment in self.segments)

    def answer(self, rank: int = 0) -> Substitution:
        """Return the text with each segment's rendering of a rank, or its last if it has fewer.

        Call only when all are answered.
        """
        if rank not in self._answers:
            spans = [segment.span for segment in self.segments]
            texts = [segment.ranked(rank).text for segment in self.segments]
            self._answers[rank] = Substitution(self.text, spans, texts)
        return self._answers[rank]

    @property
    def n_answers(self) -> int:
        """Number of ranks."""
        return max((len(segment.renderings) for segment in self.segments), default=1)

    def score(self, rank: int = 0) -> float:
        """Mean score of the segments, weighted by the tokens of the best; 0 if none."""
        weights = [len(segment.best.log_probs) for segment in self.segments]
        scores = [segment.ranked(rank).hypothesis.score for segment in self.segments]
        if len(scores) < 2:
            return sum(scores)
        return math.fsum(map(mul, weights, scores)) / sum(weights)

    @property
    def log_probs(self) -> list[float]:
        """Log-probabilities of all tokens of the best translation."""
        return [one for segment in self.segments for one in segment.best.log_probs]

    @property
    def n_source_tokens(self) -> int:
        """Number of source tokens, including control symbols."""
        return sum(len(segment.source_ids) for segment in self.segments)

    @property
    def flags(self) -> list[Flag]:
        """Flags of the best translation: those of any segment."""
        flags: set[Flag] = {flag for segment in self.segments for flag in segment.flags()}
        if self._is_cut_short:
            flags.add("truncated")
        return sorted(flags)

    def _fitting(self, span: Span, family: int) -> list[Segment]:
        """Split a span into segments that the model can read."""
        made: dict[Span, Segment] = {}

        def n_tokens(piece: Span) -> int:
            placeholders = [one.shifted(-piece.start) for one in within(self._placeholders, piece)]
            made[piece] = self._reading.segment(
                piece, piece.of(self.text), placeholders, family, with_tokens=self._with_tokens
            )
            return len(made[piece].source_ids)

        limit = self._reading.max_tokens
        whole = sorted([*self._placeholders, *self._unbroken])
        pieces = split_to_fit(self.text, span, n_tokens, limit, whole)
        fitting = [made[piece] for piece in pieces if self._has_words(made[piece])]
        readable = [one for one in fitting if len(one.source_ids) <= limit]
        self._is_cut_short |= len(readable) < len(fitting)
        return readable

    def _has_words(self, segment: Segment) -> bool:
        has_pieces = len(segment.source_ids) > self._reading.codec.n_control_tokens
        return has_pieces and any(map(str.isalpha, segment.stand_ins.substitution.rest))

    def _another_way(self, segment: Segment) -> list[Segment]:
        """Return the replacements of a segment without a rendering."""
        if segment.renderings or not segment.is_settled:
            return [segment]
        if segment.family + 1 < len(FAMILIES):
            return self._fitting(segment.span, segment.family + 1)
        found: list[Segment] = []
        start = segment.span.start
        end_mark = Span(segment.span.end, segment.span.end)
        source_language, _ = self._reading.direction
        for placeholder in [*within(self._placeholders, segment.span), end_mark]:
            between = self.text[start : placeholder.start]
            for span in segments(between, source_language, "off"):
                found += self._fitting(span.shifted(start), family=0)
            start = placeholder.end
        return found
