"""A segment: a span of a text that is translated separately, from splitting to the response."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.text.flags import (
    Flag,
    has_too_few_words,
    is_copied,
    is_repetition,
    is_truncated,
    lost_characters,
)
from app.text.glossary import Term, all_said
from app.text.spans import Span, Substitution
from app.text.stand_ins import StandIns
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.numbers import same_numbers
from model.text.text_codec import TextCodec, Token


@dataclass(frozen=True, slots=True)
class Rendering:
    """A hypothesis as text with its placeholders restored.

    tokens  the decoder's tokens with spans in `substitution.before`; see `Segment.source_tokens`
    """

    hypothesis: Hypothesis
    substitution: Substitution
    tokens: Sequence[Token] = ()

    @property
    def text(self) -> str:
        """The text that replaces the source."""
        return self.substitution.after


@dataclass(eq=False, slots=True)
class Segment:
    """A segment, which each stage of the pipeline extends.

    stand_ins      the text of the span with its placeholders replaced: the model's input
    source_ids     its tokens, as the encoder's input
    options        options of its search
    family         family of its stand-ins
    terms          glossary terms that its translation must contain, with spans in the text with
                   stand-ins
    source_tokens  the tokens with spans in that text, if requested; then the best rendering has
                   tokens as well
    agreed         certain prefix of the best hypothesis, as reported by an engine so far
    renderings     the translations, best first; empty until there are any
    is_settled     whether the search is over; without a rendering, no hypothesis was acceptable
    """

    span: Span
    stand_ins: StandIns
    source_ids: Sequence[int]
    options: SearchOptions
    codec: TextCodec
    family: int = 0
    terms: Sequence[Term] = ()
    source_tokens: Sequence[Token] | None = None
    agreed: Sequence[int] = ()
    renderings: list[Rendering] = field(default_factory=list)
    is_settled: bool = False

    @property
    def holds_placeholders(self) -> bool:
        """Whether a translation may be rejected, so that several hypotheses are requested."""
        return bool(self.stand_ins.substitution.spans)

    def agree(self, ids: Sequence[int]) -> None:
        """Store the certain prefix of the best hypothesis."""
        self.agreed = ids

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Accept the hypotheses that kept the placeholders and other words as renderings."""
        for hypothesis in hypotheses:
            text, tokens = self._read(hypothesis)
            substitution = self.stand_ins.put_back(text)
            if substitution is None:
                continue
            rendering = Rendering(hypothesis, substitution, tokens)
            if not (self.holds_placeholders and self._is_cut_short(rendering)):
                self.renderings.append(rendering)
        self.is_settled = True

    @property
    def best(self) -> Hypothesis:
        """The hypothesis of the first rendering."""
        return self.renderings[0].hypothesis

    def ranked(self, rank: int) -> Rendering:
        """Return the rendering of a rank, from 0 for the best; the last if there are fewer."""
        return self.renderings[min(rank, len(self.renderings) - 1)]

    def origin(self, span: Span) -> Span:
        """Map a span of the model's input to the whole text."""
        return self.stand_ins.substitution.origin_of(span).shifted(self.span.start)

    def place(self, span: Span) -> Span:
        """Map a span of the best hypothesis to its rendering."""
        return self.renderings[0].substitution.place_of(span)

    def flags(self) -> Iterator[Flag]:
        """Yield the flags of the best rendering."""
        best, target = self.best, self.renderings[0].substitution.before
        if best.capped:
            yield "length_capped"
        elif is_truncated(
            len(self.source_ids) - self.codec.n_control_tokens, len(best.ids)
        ) or self._is_cut_short(self.renderings[0]):
            yield "truncated"
        if is_repetition(self.source_ids, best.ids):
            yield "repetition"
        if is_copied(self.stand_ins.text, target):
            yield "copied_source"
        if not all_said(self.terms, target):
            yield "glossary_unmet"
        if lost_characters(self._unknown_characters(), target):
            yield "unknown_characters"
        if not same_numbers(self.stand_ins.text, target):
            yield "numbers"

    def _read(self, hypothesis: Hypothesis) -> tuple[str, Sequence[Token]]:
        """Return a hypothesis as text, with tokens if requested and it may be the best."""
        if self.source_tokens is None or self.renderings:
            return self.codec.decode(hypothesis.ids), ()
        end = [] if hypothesis.capped else [self.codec.eos_id]
        return self.codec.decode_target([*hypothesis.ids, *end])

    def _is_cut_short(self, rendering: Rendering) -> bool:
        """Whether it has too few words besides the placeholders."""
        return has_too_few_words(self.stand_ins.substitution.rest, rendering.substitution.rest)

    def _unknown_characters(self) -> str:
        """Return the characters missing from the vocabulary in both upper and lower case."""
        if not any(map(self.codec.is_unknown, self.source_ids)):
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

    def _is_known(self, text: str) -> bool:
        return not any(self.codec.is_unknown(token.id) for token in self.codec.tokenize(text))
