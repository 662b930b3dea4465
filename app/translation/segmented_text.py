"""One text as segments: what a model reads of it, and the answer joined again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import mul

from app.text.flags import (
    Flag,
    has_too_few_words,
    is_copied,
    is_repetition,
    is_truncated,
    lost_characters,
)
from app.text.glossary import NO_GLOSSARY, Glossary, Term, all_said
from app.text.languages import Direction
from app.text.placeholders import find_placeholders
from app.text.segmentation import Split, segments, split_to_fit
from app.text.spans import Span, Substitution, within
from app.text.stand_ins import FAMILIES, StandIns
from model.decoding.hypothesis import Hypothesis
from model.text.text_codec import TextCodec


@dataclass(frozen=True, slots=True)
class Rendering:
    """A hypothesis as text, its placeholders put back."""

    hypothesis: Hypothesis
    substitution: Substitution

    @property
    def text(self) -> str:
        """What takes the source's place."""
        return self.substitution.after


@dataclass(eq=False, slots=True)
class Stretch:
    """A span of the text that is translated on its own.

    source_ids  what the encoder reads
    terms       of the glossary, placed in the text that has the stand-ins, which its translation
                has to contain
    renderings  the answers, best first; empty before there are any
    """

    span: Span
    stand_ins: StandIns
    source_ids: list[int]
    family: int
    terms: Sequence[Term] = ()
    renderings: list[Rendering] = field(default_factory=list)

    @property
    def holds_placeholders(self) -> bool:
        """Whether an answer may be refused, so that several hypotheses are worth asking for."""
        return bool(self.stand_ins.substitution.spans)

    @property
    def best(self) -> Hypothesis:
        """The hypothesis behind the first of the renderings."""
        return self.renderings[0].hypothesis

    def is_cut_short(self, rendering: Rendering) -> bool:
        """Whether it has too few words beside the placeholders."""
        return has_too_few_words(self.stand_ins.substitution.rest, rendering.substitution.rest)

    def origin(self, span: Span) -> Span:
        """Where a span of what is read is in the whole text."""
        return self.stand_ins.substitution.origin_of(span).shifted(self.span.start)

    def place(self, span: Span) -> Span:
        """Where a span of the best hypothesis is in its rendering."""
        return self.renderings[0].substitution.place_of(span)


class Passage:
    """A text, cut into `stretches`; what lies between them stays as it is.

    Whoever has it translates the stretches that are `pending`, hands the hypotheses to `settle`,
    and repeats that until nothing is: a translation that lost a placeholder, or most words beside
    them, is tried again with other stand-ins, and then without the placeholder, which stays
    between two stretches.

    max_tokens  that the model reads at once, control symbols counted; longer sentences are cut
    glossary    whose terms are looked for; one of several words is not cut
    """

    def __init__(
        self,
        text: str,
        direction: Direction,
        codec: TextCodec,
        max_tokens: int,
        split: Split,
        *,
        glossary: Glossary = NO_GLOSSARY,
    ) -> None:
        self.text = text
        self._source_language, self._target_language = direction
        self._codec = codec
        self._max_tokens = max_tokens
        self._glossary = glossary
        self._placeholders = find_placeholders(text)
        self._unbroken = [
            term.span
            for term in glossary.find(text, self._placeholders)
            if term.n_words > 1 and len(term.span.of(text).splitlines()) == 1
        ]
        self._is_cut_short = False
        self.stretches: list[Stretch] = []
        for span in segments(
            text, self._source_language, split, self._placeholders, self._unbroken
        ):
            self.stretches += self._fitting(span, family=0)

    @property
    def pending(self) -> list[Stretch]:
        """Stretches that have no answer yet."""
        return [stretch for stretch in self.stretches if not stretch.renderings]

    def settle(self, stretch: Stretch, hypotheses: Sequence[Hypothesis]) -> list[Stretch]:
        """Give a pending stretch its answers; if none will do, what is to be tried instead."""
        for hypothesis in hypotheses:
            translation = self._codec.decode(hypothesis.ids)
            substitution = stretch.stand_ins.put_back(translation)
            if substitution is None:
                continue
            rendering = Rendering(hypothesis, substitution)
            if not (stretch.holds_placeholders and stretch.is_cut_short(rendering)):
                stretch.renderings.append(rendering)
        if stretch.renderings:
            return []
        at = self.stretches.index(stretch)
        others = self._another_way(stretch)
        self.stretches[at : at + 1] = others
        return others

    def answer(self, rank: int = 0) -> Substitution:
        """The text with every stretch's answer of a rank, or its last where it has fewer."""
        spans = [stretch.span for stretch in self.stretches]
        return Substitution(self.text, spans, [_ranked(one, rank).text for one in self.stretches])

    @property
    def n_answers(self) -> int:
        """How many ranks there are."""
        return max((len(stretch.renderings) for stretch in self.stretches), default=1)

    def score(self, rank: int = 0) -> float:
        """Mean of the stretches' scores, weighted by the tokens of the best; 0 without any."""
        weights = [len(stretch.best.log_probs) for stretch in self.stretches]
        scores = [_ranked(stretch, rank).hypothesis.score for stretch in self.stretches]
        if len(scores) < 2:
            return sum(scores)
        return math.fsum(map(mul, weights, scores)) / sum(weights)

    @property
    def log_probs(self) -> list[float]:
        """Of all tokens of the best answer."""
        return [one for stretch in self.stretches for one in stretch.best.log_probs]

    @property
    def n_source_tokens(self) -> int:
        """That were read for the answer, control symbols counted."""
        return sum(len(stretch.source_ids) for stretch in self.stretches)

    @property
    def flags(self) -> list[Flag]:
        """Those of the best answer: what is true of any stretch is true of the text."""
        flags: set[Flag] = {flag for stretch in self.stretches for flag in self._flags(stretch)}
        if self._is_cut_short:
            flags.add("truncated")
        return sorted(flags)

    def _flags(self, stretch: Stretch) -> Iterator[Flag]:
        best, source = stretch.best, stretch.stand_ins.text
        source_ids, target = stretch.source_ids, stretch.renderings[0].substitution.before
        if best.capped:
            yield "length_capped"
        elif is_truncated(
            len(source_ids) - self._codec.n_control_tokens, len(best.ids)
        ) or stretch.is_cut_short(stretch.renderings[0]):
            yield "truncated"
        if is_repetition(source_ids, best.ids):
            yield "repetition"
        if is_copied(source, target):
            yield "copied_source"
        if not all_said(stretch.terms, target):
            yield "glossary_unmet"
        if lost_characters(self._unknown_characters(stretch), target):
            yield "unknown_characters"

    def _unknown_characters(self, stretch: Stretch) -> str:
        """Those that the vocabulary has neither as capital nor as small letter."""
        if not any(map(self._codec.is_unknown, stretch.source_ids)):
            return ""
        text = stretch.stand_ins.text
        spans = dict.fromkeys(
            Span(token.start, token.end)
            for token in self._codec.tokenize(text)
            if self._codec.is_unknown(token.id)
        )
        return "".join(
            characters
            for span in spans
            if not self._is_known((characters := span.of(text)).swapcase())
        )

    def _is_known(self, text: str) -> bool:
        return not any(self._codec.is_unknown(token.id) for token in self._codec.tokenize(text))

    def _fitting(self, span: Span, family: int) -> list[Stretch]:
        """The span as stretches that the model can read."""
        made: dict[Span, Stretch] = {}

        def n_tokens(piece: Span) -> int:
            made[piece] = self._stretch(piece, family)
            return len(made[piece].source_ids)

        whole = sorted([*self._placeholders, *self._unbroken])
        pieces = split_to_fit(self.text, span, n_tokens, self._max_tokens, whole)
        fitting = [made[piece] for piece in pieces if self._has_words(made[piece])]
        readable = [one for one in fitting if len(one.source_ids) <= self._max_tokens]
        self._is_cut_short |= len(readable) < len(fitting)
        return readable

    def _stretch(self, span: Span, family: int) -> Stretch:
        placeholders = [one.shifted(-span.start) for one in within(self._placeholders, span)]
        stand_ins = StandIns(span.of(self.text), placeholders, FAMILIES[family])
        source_ids = self._codec.source_ids(stand_ins.text, self._target_language)
        terms = self._glossary.find(stand_ins.text, stand_ins.substitution.places)
        return Stretch(span, stand_ins, source_ids, family, terms)

    def _has_words(self, stretch: Stretch) -> bool:
        has_pieces = len(stretch.source_ids) > self._codec.n_control_tokens
        return has_pieces and any(map(str.isalpha, stretch.stand_ins.substitution.rest))

    def _another_way(self, stretch: Stretch) -> list[Stretch]:
        if stretch.family + 1 < len(FAMILIES):
            return self._fitting(stretch.span, stretch.family + 1)
        found: list[Stretch] = []
        start = stretch.span.start
        end_mark = Span(stretch.span.end, stretch.span.end)
        for placeholder in [*within(self._placeholders, stretch.span), end_mark]:
            between = self.text[start : placeholder.start]
            for span in segments(between, self._source_language, "off"):
                found += self._fitting(span.shifted(start), family=0)
            start = placeholder.end
        return found


def _ranked(stretch: Stretch, rank: int) -> Rendering:
    return stretch.renderings[min(rank, len(stretch.renderings) - 1)]
