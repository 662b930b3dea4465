"""A segment: a span of a text that is translated by itself, from splitting to the response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from app.languages.served import Direction
from app.text.facts.compared import fact_faults
from app.text.flags import (
    Flag,
    has_invented_word,
    has_too_few_words,
    is_copied,
    is_garbled,
    is_improbable,
    is_repetition,
    is_truncated,
    lost_characters,
)
from app.text.glossary import Term, has_all_terms
from app.text.spans import Span, Substitution
from app.text.stand_ins import StandIns
from app.translation.segments.names import has_misspelt_name, lost_names
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.text_codec import TextCodec, Token

Fault = Literal["glossary_unmet", "numbers", "facts"]
"""Flags for which a segment is searched again."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a segment is given to the model.

    family   of stand-ins
    terms    of the glossary: ignored, required of the search, or replaced by stand-ins
    numbers  whether numbers have stand-ins
    """

    family: int = 0
    terms: Literal["free", "constrained", "stand-ins"] = "free"
    numbers: bool = False

    @property
    def is_first(self) -> bool:
        """Whether neither terms nor numbers are protected."""
        return self.terms == "free" and not self.numbers


PLAIN = Form()
"""With stand-ins for placeholders only."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """A hypothesis as text with its placeholders restored.

    rest    its text with a space for each placeholder
    faults  reasons for another search; None if they were not checked
    tokens  the decoder's tokens with spans in `substitution.before`; see `Segment.source_tokens`
    """

    hypothesis: Hypothesis
    substitution: Substitution
    rest: str
    faults: Sequence[Fault] | None = None
    tokens: Sequence[Token] = ()

    @property
    def text(self) -> str:
        return self.substitution.after


@dataclass(eq=False, slots=True)
class Segment:
    """A segment; each stage of the pipeline adds its result.

    stand_ins       the model's input: the text of the span with its placeholders replaced
    source_ids      the encoder's input
    terms           glossary terms that its translation must contain
    names           names that its translation must have, unless it writes them out
    source_tokens   tokens with spans in the model's input, if requested, as those of renderings
    may_be_retried  whether a rendering may be rejected for its numbers or terms
    n_ranks         maximum number of renderings
    earlier         earlier searches for the same span that have renderings
    agreed          final prefix of the best hypothesis, as reported by an engine so far
    renderings      the translations, best first
    is_settled      whether the search is over; without renderings, no hypothesis was acceptable
    is_accepted     whether the renderings are final
    """

    span: Span
    stand_ins: StandIns
    source_ids: Sequence[int]
    options: SearchOptions
    codec: TextCodec
    direction: Direction
    form: Form = PLAIN
    terms: Sequence[Term] = ()
    names: Sequence[str] = ()
    source_tokens: Sequence[Token] | None = None
    may_be_retried: bool = False
    n_ranks: int = 1
    earlier: tuple[Segment, ...] = ()
    agreed: Sequence[int] = ()
    renderings: list[Rendering] = field(default_factory=list)
    is_settled: bool = False
    is_accepted: bool = False

    @property
    def may_be_replaced(self) -> bool:
        """Whether its translation may be rejected, so that no prefix is final."""
        return self.may_be_retried or bool(self.stand_ins.substitution.spans)

    def agree(self, ids: Sequence[int]) -> None:
        """Store the final prefix of the best hypothesis."""
        self.agreed = ids

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Take the hypotheses that kept placeholders and other words, with the fewest faults.

        Without terms, whose places are compared, it stops after `n_ranks` without faults.
        """
        found: list[Rendering] = []
        n_right = 0
        targets = [term.target for term in self.terms if self.form.terms != "stand-ins"]
        for hypothesis in hypotheses:
            text, tokens = self._read(hypothesis)
            substitution = self.stand_ins.restore(text, self.direction[-1], targets)
            if substitution is None:
                continue
            rest = self.stand_ins.rest_of(substitution)
            faults = self._faults_in(rest) if self.may_be_retried else None
            rendering = Rendering(hypothesis, substitution, rest, faults, tokens)
            if self.stand_ins.substitution.spans and self._is_cut_short(rendering):
                continue
            found.append(rendering)
            n_right += not faults
            if n_right == self.n_ranks and not self.terms:
                break
        least = min((len(one.faults or ()) for one in found), default=0)
        self.renderings = [one for one in found if len(one.faults or ()) == least]
        self.is_settled = True
        self.is_accepted = bool(found) and self.form.is_first and not self.fault

    @property
    def fault(self) -> Fault | None:
        """The first fault of the best rendering, if it may be retried."""
        if not (self.may_be_retried and self.renderings):
            return None
        return next(iter(self._faults_of(self.renderings[0])), None)

    def _faults_of(self, rendering: Rendering) -> Sequence[Fault]:
        return self._faults_in(rendering.rest) if rendering.faults is None else rendering.faults

    def _faults_in(self, rest: str) -> list[Fault]:
        faults: list[Fault] = []
        if self.terms and not has_all_terms(self.terms, rest):
            faults.append("glossary_unmet")
        source = self.stand_ins.rest
        for term in self.terms:  # whose numbers are given
            source = source.replace(term.source, " ", 1)
            rest = rest.replace(term.target, " ", 1)
        faults += fact_faults(source, rest, self.direction)
        if "facts" not in faults and lost_names(self.names, rest):
            faults.append("facts")
        return faults

    @property
    def best(self) -> Hypothesis:
        return self.renderings[0].hypothesis

    def ranked(self, rank: int) -> Rendering:
        """Return the rendering of a rank, from 0 for the best; the last if there are fewer."""
        return self.renderings[min(rank, len(self.renderings) - 1)]

    def origin(self, span: Span) -> Span:
        """Map a span of the model's input to the whole text."""
        return self.stand_ins.substitution.origin_of(span).shifted(self.span.start)

    def position(self, span: Span) -> Span:
        """Map a span of the best hypothesis to its rendering."""
        return self.renderings[0].substitution.position_of(span)

    def flags(self) -> Iterator[Flag]:
        """Yield the flags of the best rendering."""
        best, rendering = self.best, self.renderings[0]
        if best.capped:
            yield "length_capped"
        elif is_truncated(
            len(self.source_ids) - self.codec.n_control_tokens,
            len(best.ids) - self.options.n_given,
        ) or self._is_cut_short(rendering):
            yield "truncated"
        if is_repetition(self.source_ids, best.ids):
            yield "repetition"
        if is_copied(self.stand_ins.rest, rendering.rest):
            yield "copied_source"
        if lost_characters(self._unknown_characters(), rendering.substitution.before):
            yield "unknown_characters"
        if self._is_doubtful(rendering):
            yield "doubtful"
        faults = self._faults_of(rendering)
        yield from faults
        if "facts" not in faults and has_misspelt_name(
            self.stand_ins.rest, rendering.rest, self.direction[0], self._is_piece
        ):
            yield "facts"

    def _read(self, hypothesis: Hypothesis) -> tuple[str, Sequence[Token]]:
        """Return a hypothesis as text, with tokens if requested."""
        if self.source_tokens is None:
            return self.codec.decode(hypothesis.ids), ()
        end = [] if hypothesis.capped else [self.codec.eos_id]
        return self.codec.decode_target([*hypothesis.ids, *end])

    def _is_cut_short(self, rendering: Rendering) -> bool:
        """Whether it has too few words besides the placeholders."""
        return has_too_few_words(self.stand_ins.rest, rendering.rest)

    def _is_doubtful(self, rendering: Rendering) -> bool:
        """Whether the model doubts the whole or a word; terms were required, whatever it finds."""
        found = rendering.hypothesis
        if self.form.terms != "constrained" and is_improbable(found.log_probs):
            return True
        pieces = map(self.codec.piece, found.ids)  # read only if a word may be doubtful
        known = " ".join([self.stand_ins.text, *(term.target for term in self.terms)])
        return has_invented_word(pieces, found.log_probs, known) or is_garbled(
            self.stand_ins.text, rendering.substitution.before
        )

    def _unknown_characters(self) -> str:
        """Return the characters missing from the vocabulary in both upper and lower case."""
        if not self.codec.has_unknown(self.source_ids):
            return ""
        text = self.stand_ins.text
        tokens = self.source_tokens or self.codec.tokenize(text)
        spans = dict.fromkeys(
            Span(token.start, token.end) for token in tokens if self.codec.is_unknown(token.id)
        )
        return "".join(
            characters
            for span in spans
            if not self._is_known((characters := span.of(text)).swapcase())
        )

    def _is_piece(self, letters: str) -> bool:
        return len(self.codec.tokenize(letters)) == 1

    def _is_known(self, text: str) -> bool:
        return not any(self.codec.is_unknown(token.id) for token in self.codec.tokenize(text))
