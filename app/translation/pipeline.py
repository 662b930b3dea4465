"""The way of texts through the models of a language path: read, search, put together, link.

Requests and files both go it; the command line reads and settles in the same way, and has engines
of its own in the queue's place (`app.cli.translating.line_translator`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from app.observe.timings import Timings
from app.scheduling.fair_queue import Lane
from app.text.document import Answer
from app.text.inline_tags import WordLink, joined_links
from app.translation.language_paths import Step
from app.translation.partial_results import Feed, LiveText
from app.translation.segmented_text import SegmentedText

T = TypeVar("T")

MAX_INTERACTIVE_SEGMENTS = 16
"""Somebody may be looking at the answer to so many; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many takes a millisecond; more would hold up the event loop."""


@dataclass(eq=False, slots=True)
class Block:
    """A text of a document, and what became of it.

    tagged  whether its words are to be linked with those of its translation, to place tags
    feed    where its translation is told as it comes
    passes  the text as each model read and answered it
    links   between the words of the text and its best answer
    """

    text: str
    tagged: bool = False
    feed: Feed | None = None
    passes: list[SegmentedText] = field(default_factory=list)
    links: list[WordLink] | None = None

    def answer(self, rank: int = 0) -> Answer:
        """The translation of a rank, 0 being the best; links are the best's alone."""
        if not self.passes:
            return Answer(self.text)
        return Answer(self.passes[-1].answer(rank).after, None if rank else self.links)

    def link(self, found: list[WordLink]) -> None:
        """Take the links of a pass; those of the passes before lead on over them."""
        self.links = found if self.links is None else joined_links(self.links, found)


@dataclass(slots=True)
class Turn:
    """How a request waits for engines.

    client          takes turns with others; None is one of its own
    deadline        by the schedulers' clock
    timings         where its time is counted
    may_be_refused  where too much waits already; what is begun is finished
    """

    client: Hashable
    deadline: float
    timings: Timings
    may_be_refused: bool = True


async def translate_blocks(blocks: Sequence[Block], steps: Sequence[Step], turn: Turn) -> None:
    """Give each block its passes, one a step. Raises as `Scheduler.translate`."""
    for step in steps:
        with turn.timings.measure("tokenize"):
            await _read(blocks, step)
        await _search(blocks, step, turn, tells=step is steps[-1])
        with turn.timings.measure("decode"):
            await _link(blocks, step)


async def _read(blocks: Sequence[Block], step: Step) -> None:
    """Cut into segments, lift placeholders, find terms, tokenise."""

    def read() -> None:
        for block in blocks:
            text = block.answer().text
            block.passes.append(SegmentedText(text, step.reading, with_tokens=block.tagged))

    await off_the_loop(read, sum(len(block.text) for block in blocks))


async def _search(blocks: Sequence[Block], step: Step, turn: Turn, *, tells: bool) -> None:
    """Through the queue, until every segment has a rendering."""
    n_segments = sum(len(block.passes[-1].segments) for block in blocks)
    lane: Lane = "interactive" if n_segments <= MAX_INTERACTIVE_SEGMENTS else "bulk"
    feeds = [(block.passes[-1], block.feed if tells else None) for block in blocks]
    texts = [LiveText(text, feed) if feed else text for text, feed in feeds]
    # A segment whose placeholders got lost is pending again, in another form.
    while pending := [segment for text in texts for segment in text.pending()]:
        spent = await step.model.scheduler.translate(
            pending,
            lane=lane,
            client=turn.client,
            deadline=turn.deadline,
            stream=isinstance(texts[0], LiveText),
            is_new=turn.may_be_refused,
        )
        turn.may_be_refused = False
        turn.timings.queue += spent.queued
        turn.timings.decode += spent.worked
        turn.timings.detokenize += spent.settled


async def _link(blocks: Sequence[Block], step: Step) -> None:
    for block in blocks:
        if block.tagged:
            block.link(await step.model.explainer.word_links(block.passes[-1], step.direction))


async def off_the_loop(work: Callable[[], T], n_characters: int) -> T:
    """What `work` returns, which may take a while with so many characters."""
    return work() if n_characters <= MAX_INLINE_CHARACTERS else await asyncio.to_thread(work)
