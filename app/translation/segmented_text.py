"""A text as segments for a model to read, and the answer put together again."""

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
    """How the texts of a request are read for a model, and searched for.

    max_tokens   that the model reads at once, control symbols counted; longer segments are cut
    glossary     whose terms are looked for; one of several words is not cut
    speller      of its terms
    with_tokens  whether the places of tokens will be asked for, as explanations and tags do
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
        """The span of a text, its placeholders lifted, tokenised; they are placed in the span."""
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
        """With placeholders as many hypotheses as there are; with terms constraints of its own."""
        options = self.options
        if holds_placeholders:
            options = replace(options, n_best=options.beam_size)
        if terms and self.speller:
            options = replace(options, constraints=self.speller.constraints(terms))
        return options


class SegmentedText:
    """A text, cut into `segments`; what lies between them stays as it is.

    Whoever has it searches for the segments that are `pending`, and repeats that until none is: a
    translation that lost a placeholder, or most words beside them, is tried again with other
    stand-ins, and then without the placeholder, which stays between two segments.
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
        """Segments to search for; those that no hypothesis would do for are replaced by others."""
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
        """The text with every segment's rendering of a rank, or its last where it has fewer.

        To be asked for once all are answered.
        """
        if rank not in self._answers:
            spans = [segment.span for segment in self.segments]
            texts = [segment.ranked(rank).text for segment in self.segments]
            self._answers[rank] = Substitution(self.text, spans, texts)
        return self._answers[rank]

    @property
    def n_answers(self) -> int:
        """How many ranks there are."""
        return max((len(segment.renderings) for segment in self.segments), default=1)

    def score(self, rank: int = 0) -> float:
        """Mean of the segments' scores, weighted by the tokens of the best; 0 without any."""
        weights = [len(segment.best.log_probs) for segment in self.segments]
        scores = [segment.ranked(rank).hypothesis.score for segment in self.segments]
        if len(scores) < 2:
            return sum(scores)
        return math.fsum(map(mul, weights, scores)) / sum(weights)

    @property
    def log_probs(self) -> list[float]:
        """Of all tokens of the best answer."""
        return [one for segment in self.segments for one in segment.best.log_probs]

    @property
    def n_source_tokens(self) -> int:
        """That were read for the answer, control symbols counted."""
        return sum(len(segment.source_ids) for segment in self.segments)

    @property
    def flags(self) -> list[Flag]:
        """Those of the best answer: what is true of any segment is true of the text."""
        flags: set[Flag] = {flag for segment in self.segments for flag in segment.flags()}
        if self._is_cut_short:
            flags.add("truncated")
        return sorted(flags)

    def _fitting(self, span: Span, family: int) -> list[Segment]:
        """The span as segments that the model can read."""
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
        """What is searched for in a segment's place, if it has no rendering."""
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
