"""Reads the texts of a step a window at a time: as many segments as are in memory at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from app.concurrency.abandonment import in_thread
from app.text.document import Answer
from app.text.word_links import WordLinks, joined_links
from app.translation.language_paths import Step
from app.translation.partial_results import Feed, LiveSegment, LiveText
from app.translation.segments.layout import PART_CHARACTERS, PART_SENTENCES, parts_of
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from app.translation.translated_text import TranslatedText

MAX_INTERACTIVE_SEGMENTS = 16
"""Texts that a user may be waiting for; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many characters takes a millisecond; more would block the event loop."""


@dataclass(eq=False, slots=True)
class Block:
    """A text of a document, and its translation.

    tagged  whether to link its words with those of its translation, to place tags
    feed    receives its translation as a stream
    passes  the text as translated by each model
    links   links between words of the text and its best translation
    parts   what is translated of it by the present model
    """

    text: str
    tagged: bool = False
    feed: Feed | None = None
    passes: list[TranslatedText] = field(default_factory=list)
    links: WordLinks | None = None
    parts: dict[int, TranslatedText] | None = None

    @property
    def latest(self) -> str:
        """The text, or its best translation by the models before: what the next one reads."""
        return self.passes[-1].answers[0] if self.passes else self.text

    def answer(self, rank: int = 0) -> Answer:
        """Return the translation of a rank, from 0 for the best; only the best has links."""
        if not self.passes:
            return Answer(self.text)
        return Answer(self.passes[-1].answer(rank), None if rank else self.links)

    def add(self, start: int, part: TranslatedText) -> None:
        """Keep a part of its translation, which begins at `start` of what was to translate."""
        if self.parts is None:
            self.parts = {}
        self.parts[start] = part

    def end_pass(self) -> None:
        """Join the parts. The links are composed with those of the passes before."""
        parts = self.parts or {}
        whole = TranslatedText.joined([parts[start] for start in sorted(parts)])
        self.parts = None
        if whole.links is not None:
            before = self.links
            self.links = whole.links if before is None else joined_links(before, whole.links)
            whole.links = None
        self.passes.append(whole)


@dataclass(eq=False, slots=True)
class Part:
    """A part of a block under way, from `start`; `is_all` if it is the only one.

    live  streams the block
    """

    block: Block
    start: int
    text: SegmentedText
    live: LiveText | None
    is_all: bool

    def unsettled(self) -> list[Segment | LiveSegment]:
        """Return the segments whose search is not over, wrapped for streaming."""
        if self.live is None:
            return list(self.text.unsettled)
        self.live.tell_news()
        return [LiveSegment(segment, self.live) for segment in self.text.unsettled]


Window = list[Part]
"""Parts of texts that are translated together."""


def n_segments(window: Window) -> int:
    """Return the number of segments of a window."""
    return sum(len(part.text.segments) for part in window)


def n_characters(window: Window) -> int:
    """Return the number of characters of a window."""
    return sum(len(part.text.text) for part in window)


class Windows:
    """The texts of blocks, as read for a step, in windows and in order.

    tells  whether to stream the blocks with a feed
    """

    def __init__(self, blocks: Sequence[Block], step: Step, *, tells: bool) -> None:
        self.n_characters = sum(len(block.latest) for block in blocks)
        self._unread = _read(_parts(blocks, step, tells=tells))
        self._turn = asyncio.Lock()

    async def next(self) -> Window:
        """Read the next window; it is empty if there is no more."""
        if self.n_characters <= MAX_INLINE_CHARACTERS:
            return next(self._unread, [])
        async with self._turn:
            return await in_thread(lambda: next(self._unread, []))


# Not methods: what is left unread would hold the windows that hold it, until they are collected.
def _read(parts: Iterable[Part]) -> Iterator[Window]:
    window: Window = []
    n_read = n_found = 0
    for part in parts:
        window.append(part)
        n_read += len(part.text.text)
        n_found += len(part.text.segments)
        is_long = n_read >= PART_CHARACTERS and n_found > MAX_INTERACTIVE_SEGMENTS
        if is_long or max(n_found, len(window)) >= PART_SENTENCES:
            yield window
            window, n_read, n_found = [], 0, 0
    if window:
        yield window


def _parts(blocks: Sequence[Block], step: Step, *, tells: bool) -> Iterator[Part]:
    """Split into segments, lift placeholders, find terms, tokenise."""
    for block in blocks:
        text = block.latest
        live = LiveText(block.feed) if tells and block.feed else None
        for start, part, layout in parts_of(text, step.reading):
            read = SegmentedText(part, step.reading, with_tokens=block.tagged, layout=layout)
            if live:
                live.add(start, read)
            yield Part(block, start, read, live, is_all=len(part) == len(text))
