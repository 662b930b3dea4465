"""Finds where a text is split, before any of it is tokenised, and divides a long one into parts.

A segment in progress takes 2 kB of memory, a hundred times its text if that is short. A long text
is therefore read, translated and detokenised in parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.text.facts.kept import find_kept
from app.text.placeholders import find_placeholders
from app.text.segmentation import each_segment
from app.text.spans import Span, Spans, apart, clipped, united
from app.translation.segments.reading import Reading
from app.translation.segments.untranslatable import Untranslatable, find_untranslatable

PART_SENTENCES = 64
PART_CHARACTERS = 8000
"""Size of a part: it ends with the sentence that reaches either."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The structure of a text; spans are ordered and disjoint.

    kept       spans that the model must not be given
    unbroken   terms of several words, which are not divided between segments
    sentences  spans to translate; one may be longer than a model reads
    continues  whether the text continues one after a sentence
    """

    kept: Untranslatable
    unbroken: Sequence[Span]
    sentences: Iterable[Span]
    continues: bool = False

    @classmethod
    def of(cls, text: str, reading: Reading, sentences: Sequence[Span] | None = None) -> Layout:
        """Examine a text; its sentences, unless given, are found lazily, to be iterated once."""
        source, _ = reading.direction
        placeholders = _with_facts(text, find_placeholders(text), reading)
        terms, of_one_line = Spans(), Spans()
        for term in reading.glossary.find(text, placeholders):
            terms.append(term.span)
            if term.n_words > 1 and len(term.span.of(text).splitlines()) == 1:
                of_one_line.append(term.span)
        kept = find_untranslatable(text, reading.unknown_characters, placeholders, terms)
        unbroken = apart(of_one_line, kept.spans) if of_one_line else ()
        split = each_segment(
            text, source, reading.split, kept.masked, unbroken, sentences=sentences
        )
        return cls(kept, unbroken, split)

    def within(self, part: Span, sentences: Sequence[Span]) -> Layout:
        """Return the layout of a part of the text with these sentences."""

        def moved(spans: Sequence[Span]) -> list[Span]:
            return [span.shifted(-part.start) for span in clipped(spans, part)]

        kept = self.kept
        if not (part.start or kept.spans or self.unbroken):
            return Layout(kept, (), sentences)
        return Layout(
            Untranslatable(moved(kept.spans), moved(kept.masked), moved(kept.foreign)),
            moved(self.unbroken),
            [span.shifted(-part.start) for span in sentences],
            continues=part.start > 0,
        )


def _with_facts(text: str, placeholders: Spans, reading: Reading) -> Spans:
    """Return the placeholders and the facts that are copied, but those that are a glossary's."""
    source, _ = reading.direction
    facts: Iterable[Span] = find_kept(text, source)
    if facts and reading.glossary:
        terms = [term.span for term in reading.glossary.find(text, placeholders)]
        facts = [
            fact
            for fact in facts
            if not any(term.start <= fact.start and fact.end <= term.end for term in terms)
        ]
    return united(text, placeholders, facts) if facts else placeholders


def parts_of(
    text: str, reading: Reading, sentences: Sequence[Span] | None = None
) -> Iterator[tuple[int, str, Layout]]:
    """Yield the parts of a text with their start, whose concatenation it is; one if it is short.

    A part ends with a sentence, so that it is split as it would be in the whole text. `sentences`
    are those of a text that a model has written.
    """
    layout = Layout.of(text, reading, sentences)
    start = n_characters = 0
    sentences = []
    for sentence in layout.sentences:
        if len(sentences) == PART_SENTENCES or n_characters >= PART_CHARACTERS:
            part = Span(start, sentences[-1].end)
            yield start, part.of(text), layout.within(part, sentences)
            start, n_characters, sentences = part.end, 0, []
        sentences.append(sentence)
        n_characters += sentence.end - sentence.start
    part = Span(start, len(text))
    yield start, part.of(text), layout.within(part, sentences)
