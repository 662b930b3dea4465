"""Prepares the texts of a request for a model, and converts glossary terms to constraints."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from app.languages.served import Direction
from app.text.facts.compared import may_have_facts
from app.text.facts.written import number_forms
from app.text.facts.written_words import NumberForm
from app.text.glossary import NO_GLOSSARY, Glossary, Term
from app.text.segmentation import Split
from app.text.spans import Span
from app.text.stand_ins import FAMILIES, StandIns, Translated
from app.translation.segments.names import find_names, lost_names
from app.translation.segments.segment import PLAIN, Form, Segment
from model.decoding.constraints import Constraint
from model.decoding.hypothesis import SearchOptions
from model.decoding.term_constraints import allowed_constraints, constraint_of, piece_edges
from model.text.text_codec import TextCodec
from model.text.unknown_characters import UnknownCharacters

CACHED_TERMS = 4096
"""Spelt terms kept, since the terms of a glossary recur in every sentence."""


_INVISIBLE = re.compile("[\u00ad\u202a-\u202e\u2060-\u2064\u2066-\u2069]")
"""Soft hyphens, word joiners and marks of direction: the model is given a control instead, which
its normalisation removes."""


class TermSpeller:
    """Spells terms in a model's tokens."""

    def __init__(self, codec: TextCodec) -> None:
        edges = piece_edges(codec)

        @lru_cache(CACHED_TERMS)
        def spell(target: str, may_be_capital: bool) -> Constraint | None:
            return constraint_of(codec, edges, target, may_be_capital=may_be_capital)

        self._spell = spell

    def constraints(self, terms: Sequence[Term]) -> tuple[Constraint, ...]:
        """Return a constraint per term, except those that the vocabulary cannot spell."""
        found = (self._spell(term.target, term.may_be_capital) for term in terms)
        return tuple(constraint for constraint in found if constraint)


@dataclass(frozen=True)
class Reading:
    """How the texts of a request are prepared for a model, and its search options.

    max_tokens   the model's limit, including control symbols; longer segments are split
    glossary     terms to find; terms of several words are not split
    speller      spells its terms
    with_tokens  whether the spans of tokens are needed, for explanations and tags
    unknown      characters that the model cannot read, if known from other texts
    """

    codec: TextCodec
    direction: Direction
    max_tokens: int
    options: SearchOptions
    split: Split = "sentences"
    glossary: Glossary = NO_GLOSSARY
    speller: TermSpeller | None = None
    with_tokens: bool = False
    unknown: UnknownCharacters | None = None

    @cached_property
    def unknown_characters(self) -> UnknownCharacters:
        """The characters that the model cannot read."""
        return self.unknown or UnknownCharacters(self.codec)

    def segment(
        self,
        span: Span,
        text: str,
        placeholders: Sequence[Span],
        form: Form = PLAIN,
        *,
        with_tokens: bool = False,
        earlier: Sequence[Segment] = (),
    ) -> Segment:
        """Return a segment for a span, tokenised with stand-ins for the given placeholders.

        The form may add stand-ins for terms or numbers; `earlier` are the searches before.
        """
        terms = list(self.glossary.find(text, placeholders))
        translated = self._translated(text, placeholders, terms, form, earlier)
        stand_ins = StandIns(text, placeholders, FAMILIES[form.family], translated)
        (source, target), tokens = self.direction, None
        read = _INVISIBLE.sub("\x01", stand_ins.text)
        if with_tokens:
            tokens = self.codec.encode_source(read, target, source)
            ids = [token.id for token in tokens]
        else:
            ids = self.codec.source_ids(read, target, source)
        names = find_names(stand_ins.rest, source, self._is_word)
        if not form.is_first and earlier:
            names = earlier[-1].names
        may_be_retried = bool(terms or names) or may_have_facts(stand_ins.rest, source)
        return Segment(
            span,
            stand_ins,
            ids,
            self._options(bool(stand_ins.substitution.spans) or may_be_retried, terms, form),
            self.codec,
            self.direction,
            form,
            terms,
            names,
            tokens,
            may_be_retried,
            self.options.n_best,
            tuple(earlier),
        )

    def _translated(
        self,
        text: str,
        placeholders: Sequence[Span],
        terms: Sequence[Term],
        form: Form,
        earlier: Sequence[Segment],
    ) -> list[Translated]:
        found: list[Translated] = []
        if form.terms == "stand-ins":
            found = [Translated(term.span, term.target, term.may_be_capital) for term in terms]
        if form.numbers:
            taken = [*placeholders, *(term.span for term in terms)]
            with_nouns = form.family == 0  # the second attempt
            lost = lost_names(earlier[-1].names, earlier[-1].renderings[0].rest) if earlier else ()
            forms = [
                NumberForm(*at.span(), name)
                for name in lost
                for at in re.finditer(rf"\b{re.escape(name)}\b", text)
            ]
            if with_nouns or not forms:  # at first, lost names alone
                forms += number_forms(text, *self.direction, with_nouns=with_nouns)
            for start, end, written in forms:
                if not any(start < other.end and other.start < end for other in taken):
                    found.append(Translated(Span(start, end), written))
                    taken.append(Span(start, end))
        return found

    def _is_word(self, letters: str) -> bool:
        return len(self.codec.tokenize(letters)) == 1

    def _options(self, is_selective: bool, terms: Sequence[Term], form: Form) -> SearchOptions:
        """Return search options, for all hypotheses if some may be rejected."""
        options = self.options
        if form.terms == "constrained" and self.speller:
            spelt = self.speller.constraints(terms)
            return replace(options, constraints=allowed_constraints(spelt, options.processors))
        return self._all_hypotheses if is_selective else options

    @cached_property
    def _all_hypotheses(self) -> SearchOptions:
        """The options of a search of which some hypotheses may be rejected."""
        return replace(self.options, n_best=self.options.beam_size)
