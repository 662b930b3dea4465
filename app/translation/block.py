"""A text of a document with its translation by one model; a long one is translated in parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import mul

from app.concurrency.threads import check_abandoned
from app.text.document import Answer
from app.text.flags import Flag
from app.text.spans import Span, Spans
from app.text.word_links import WordLinks, joined_links
from app.translation.answers import Segment
from app.translation.partial_results import Feed, LiveText
from app.translation.segments.differences import lost_facts
from app.translation.segments.layout import parts_of
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText, is_mostly_foreign


@dataclass(eq=False, slots=True)
class Block:
    """A text of a document, or a part of it, with its translation by one model.

    tagged           whether to link its words with those of its translation, to place tags
    feed             receives the translation as a stream, through `live`
    before           the text as the model before read it, if this is its translation
    start            offset of a part in the whole text; None for a whole text
    parts            those of a long text, in order
    languages        of the text of the document and of the translation

    The translation:

    answers          best first, with their `scores`, as the search ranks
    n_source_tokens  including control symbols
    n_target_tokens  of the best answer, as `log_prob`, the sum of its tokens', and `flags`
    words            of a part: number of words, and of those that the model could read
    sentences        spans of the segments in the best answer, which the next model reads, and
    origins          in the text
    links            between words of the text of the document and the best answer, if tagged
    explained        its segments, if requested
    """

    text: str
    tagged: bool = False
    feed: Feed | None = None
    before: Block | None = None
    start: int | None = None
    live: LiveText | None = None
    parts: list[Block] = field(default_factory=list)
    languages: tuple[str, str] = ("", "")
    answers: Sequence[str] = ()
    scores: Sequence[float] = ()
    n_source_tokens: int = 0
    n_target_tokens: int = 0
    log_prob: float = 0.0
    flags: Sequence[Flag] = ()
    words: tuple[int, int] = (0, 0)
    sentences: Spans = field(default_factory=Spans)
    origins: Spans = field(default_factory=Spans)
    links: WordLinks | None = None
    explained: list[Segment] | None = None

    def following(self) -> Block:
        """Return its best answer as the text of the next model."""
        return Block(self.answers[0], self.tagged, self.feed, before=self)

    @property
    def passes(self) -> list[Block]:
        """The text as each model read it, in order, with its translation."""
        before = self.before.passes if self.before else []
        return [*before, self] if self.answers else before

    def answer(self, rank: int = 0) -> Answer:
        """Return the translation of a rank, from 0 for the best; only the best has links."""
        if not self.answers:
            return Answer(self.text)
        return Answer(self._ranked(rank), None if rank else self.links, self.languages)

    def read(self, reading: Reading, *, streams: bool) -> Iterator[tuple[Block, SegmentedText]]:
        """Split into segments, lift placeholders, find terms, tokenise; a part at a time."""
        source, target = reading.direction
        self.languages = (self.before.languages[0] if self.before else source), target
        self.live = LiveText(self.feed) if streams and self.feed else None
        sentences = self.before.sentences if self.before else None
        for start, text, layout in parts_of(self.text, reading, sentences):
            part = self
            if len(text) < len(self.text):
                part = Block(text, self.tagged, start=start, live=self.live)
                self.parts.append(part)
            segmented = SegmentedText(text, reading, with_tokens=self.tagged, layout=layout)
            if self.live:
                self.live.add(start, segmented)
            yield part, segmented

    def keep(self, text: SegmentedText, n_ranks: int) -> None:
        """Keep what belongs to the answer of a text whose segments are translated."""
        ranks = range(min(n_ranks, text.n_answers))
        log_probs = text.log_probs
        self.answers = [text.answer(rank).after for rank in ranks]
        self.scores = [text.score(rank) for rank in ranks]
        self.sentences = Spans(text.targets)
        self.origins = Spans(segment.span for segment in text.segments)
        self.n_source_tokens = text.n_source_tokens
        self.n_target_tokens = len(log_probs)
        self.log_prob = math.fsum(log_probs)
        if self.start is None:
            self.flags = text.flags
        else:
            self.flags, self.words = sorted(text.flags_of_segments), text.word_counts

    def finish(self) -> None:
        """Join the parts; with a model before, compare facts with its text, and compose links."""
        if self.parts:
            self._join(self.parts)
            self.parts = []
        if self.before and self.answers:
            self.flags = sorted({*self.flags, *self._lost_facts(self.before)})
        if self.links is not None and self.before and self.before.links is not None:
            self.links = joined_links(self.before.links, self.links)
            self.before.links = None

    def _lost_facts(self, before: Block) -> set[Flag]:
        """Return the flags of facts of the first text, sentence by sentence."""
        flags: set[Flag] = set()
        own = list(zip(self.origins, self.sentences, strict=True))
        at = 0
        for origin, pivot in zip(before.origins, before.sentences, strict=True):
            check_abandoned()
            found: list[Span] = []
            while at < len(own) and own[at][0].start < pivot.end:
                found.append(own[at][1])
                at += 1
            translation = Span(found[0].start, found[-1].end) if found else Span(0, 0)
            flags.update(
                lost_facts(origin.of(before.text), translation.of(self.answers[0]), self.languages)
            )
        return flags

    def _join(self, parts: Sequence[Block]) -> None:
        ranks = range(max(len(part.answers) for part in parts))
        self.answers = ["".join(part._ranked(rank) for part in parts) for rank in ranks]
        self.scores = [mean_score(parts, rank) for rank in ranks]
        self.n_source_tokens = sum(part.n_source_tokens for part in parts)
        self.n_target_tokens = sum(part.n_target_tokens for part in parts)
        self.log_prob = math.fsum(part.log_prob for part in parts)
        flags: set[Flag] = {flag for part in parts for flag in part.flags}
        if is_mostly_foreign(*map(sum, zip(*(part.words for part in parts), strict=True))):
            flags.add("copied_source")
        self.flags = sorted(flags)
        self.sentences = Spans(
            span.shifted(target) for part, _, target in _starts(parts) for span in part.sentences
        )
        self.origins = Spans(
            span.shifted(source) for part, source, _ in _starts(parts) for span in part.origins
        )
        if self.tagged:
            self.links = WordLinks(
                link.shifted(source, target)
                for part, source, target in _starts(parts)
                for link in part.links or ()
            )
        if any(part.explained is not None for part in parts):
            self.explained = []
            for part, source, target in _starts(parts):
                for segment in part.explained or ():
                    _shift(segment, source, target)
                    self.explained.append(segment)

    def _ranked(self, rank: int) -> str:
        return self.answers[min(rank, len(self.answers) - 1)]


def mean_score(blocks: Sequence[Block], rank: int) -> float:
    """Mean score, weighted by the tokens of the best answers; 0 if there are none."""
    scores = [one.scores[min(rank, len(one.scores) - 1)] for one in blocks]
    if len(blocks) == 1:
        return scores[0]
    weights = [one.n_target_tokens for one in blocks]
    return math.fsum(map(mul, weights, scores)) / max(1, sum(weights))


def _starts(parts: Sequence[Block]) -> Iterator[tuple[Block, int, int]]:
    """Yield each part with its offset in the text and in the translation."""
    source = target = 0
    for part in parts:
        yield part, source, target
        source += len(part.text)
        target += len(part.answers[0])


def _shift(segment: Segment, source: int, target: int) -> None:
    """Move a segment of a part to the part's offset."""
    segment.source = Span(*segment.source).shifted(source)
    segment.target = Span(*segment.target).shifted(target)
    for tokens, by in ((segment.source_tokens, source), (segment.target_tokens, target)):
        for token in tokens:
            token.start += by
            token.end += by
    for fault in segment.faults or ():
        fault.source = [Span(*place).shifted(source) for place in fault.source]
        fault.target = [Span(*place).shifted(target) for place in fault.target]
    if segment.source_words is not None and segment.target_words is not None:
        segment.source_words = [Span(*word).shifted(source) for word in segment.source_words]
        segment.target_words = [Span(*word).shifted(target) for word in segment.target_words]
