"""A segment: a span of a text that is translated on its own, from the splitter to the answer."""

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
from app.text.numbers import same_numbers
from app.text.spans import Span, Substitution
from app.text.stand_ins import StandIns
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.text.text_codec import TextCodec, Token


@dataclass(frozen=True, slots=True)
class Rendering:
    """A hypothesis as text, its placeholders put back.

    tokens  what the decoder produced, placed in `substitution.before`; see `Segment.source_tokens`
    """

    hypothesis: Hypothesis
    substitution: Substitution
    tokens: Sequence[Token] = ()

    @property
    def text(self) -> str:
        """What takes the source's place."""
        return self.substitution.after


@dataclass(eq=False, slots=True)
class Segment:
    """What is known of a segment, more with every stage.

    stand_ins      the text of the span with its placeholders replaced: what the model reads
    source_ids     its tokens, as the encoder gets them
    options        how it is searched for
    family         of the stand-ins
    terms          of the glossary, placed in the text that has the stand-ins, which its translation
                   has to contain
    source_tokens  the tokens with their places in that text, where they were asked for: then the
                   best rendering has its tokens, too
    agreed         ids that the best hypothesis will begin with, as far as an engine has told
    renderings     the answers, best first; empty before there are any
    is_settled     whether the search is over; without a rendering, no hypothesis will do
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
        """Whether an answer may be refused, so that several hypotheses are worth asking for."""
        return bool(self.stand_ins.substitution.spans)

    def agree(self, ids: Sequence[int]) -> None:
        """Note what the best hypothesis will begin with."""
        self.agreed = ids

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Take the hypotheses that kept the placeholders, and words beside them, as renderings."""
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
        """The hypothesis behind the first of the renderings."""
        return self.renderings[0].hypothesis

    def ranked(self, rank: int) -> Rendering:
        """The rendering of a rank, 0 being the best; the last where there are fewer."""
        return self.renderings[min(rank, len(self.renderings) - 1)]

    def origin(self, span: Span) -> Span:
        """Where a span of what is read is in the whole text."""
        return self.stand_ins.substitution.origin_of(span).shifted(self.span.start)

    def place(self, span: Span) -> Span:
        """Where a span of the best hypothesis is in its rendering."""
        return self.renderings[0].substitution.place_of(span)

    def flags(self) -> Iterator[Flag]:
        """Those of the best rendering."""
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
        """As text, and with its tokens if they are asked for and it may be the best."""
        if self.source_tokens is None or self.renderings:
            return self.codec.decode(hypothesis.ids), ()
        end = [] if hypothesis.capped else [self.codec.eos_id]
        return self.codec.decode_target([*hypothesis.ids, *end])

    def _is_cut_short(self, rendering: Rendering) -> bool:
        """Whether it has too few words beside the placeholders."""
        return has_too_few_words(self.stand_ins.substitution.rest, rendering.substitution.rest)

    def _unknown_characters(self) -> str:
        """Those that the vocabulary has neither as capital nor as small letter."""
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
