"""Reads the texts of a step a window at a time: as many segments as are in memory at once."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from app.concurrency.threads import in_thread
from app.translation.block import Block
from app.translation.segments.layout import PART_CHARACTERS, PART_SENTENCES
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText

MAX_INTERACTIVE_SEGMENTS = 16
"""Texts that a user may be waiting for; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many characters takes a millisecond; more would block the event loop."""


class Window(list[tuple[Block, SegmentedText]]):
    """Blocks, or parts of them, that are translated together."""

    @property
    def n_characters(self) -> int:
        return sum(len(text.text) for _, text in self)

    @property
    def n_segments(self) -> int:
        return sum(len(text.segments) for _, text in self)

    @property
    def n_tokens(self) -> int:
        return sum(text.n_source_tokens for _, text in self)


class Windows:
    """The blocks as read for a model, in windows and in order.

    streams  whether to stream the blocks with a feed
    """

    def __init__(self, blocks: Sequence[Block], reading: Reading, *, streams: bool) -> None:
        self.n_characters = sum(len(block.text) for block in blocks)
        parts = (part for block in blocks for part in block.read(reading, streams=streams))
        self._unread = _windows(parts)
        self._lock = asyncio.Lock()

    async def next(self) -> Window:
        """Read the next window; an empty one at the end."""
        if self.n_characters <= MAX_INLINE_CHARACTERS:
            return next(self._unread, Window())
        async with self._lock:
            return await in_thread(lambda: next(self._unread, Window()))


# A function, to avoid a cycle between the generator and `Windows`.
def _windows(parts: Iterable[tuple[Block, SegmentedText]]) -> Iterator[Window]:
    window = Window()
    n_read = n_found = 0
    for part in parts:
        window.append(part)
        n_read += len(part[1].text)
        n_found += len(part[1].segments)
        is_long = n_read >= PART_CHARACTERS and n_found > MAX_INTERACTIVE_SEGMENTS
        if is_long or max(n_found, len(window)) >= PART_SENTENCES:
            yield window
            window, n_read, n_found = Window(), 0, 0
    if window:
        yield window
