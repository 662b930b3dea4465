"""Translates texts with the models of a language path: prepare, search, assemble, link.

Used by requests and files; the command line uses the same stages, with its own engines instead of
the queue (`app.cli.translating.line_translator`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from app.concurrency.abandonment import in_thread
from app.errors import DeadlineExceededError
from app.observe.timings import Timings
from app.scheduling.fair_queue import Lane
from app.scheduling.queue_items import Asker
from app.text.document import Answer
from app.text.inline_tags import WordLink, joined_links
from app.translation.language_paths import PlannedStep, Step
from app.translation.partial_results import Feed, LiveSegment, LiveText
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText

T = TypeVar("T")

MAX_INTERACTIVE_SEGMENTS = 16
"""Texts that a user may be waiting for; a longer list goes into the bulk lane."""

MAX_INLINE_CHARACTERS = 2000
"""Tokenising so many characters takes a millisecond; more would block the event loop."""


@dataclass(eq=False, slots=True)
class Block:
    """A text of a document, and its translation.

    tagged  whether to link its words with those of its translation, to place tags
    feed    receives its translation as a stream
    passes  the text as read and translated by each model
    links   links between words of the text and its best translation
    """

    text: str
    tagged: bool = False
    feed: Feed | None = None
    passes: list[SegmentedText] = field(default_factory=list)
    links: list[WordLink] | None = None

    def answer(self, rank: int = 0) -> Answer:
        """Return the translation of a rank, from 0 for the best; only the best has links."""
        if not self.passes:
            return Answer(self.text)
        return Answer(self.passes[-1].answer(rank).after, None if rank else self.links)

    def link(self, found: list[WordLink]) -> None:
        """Compose the links of a pass with those of the passes before."""
        self.links = found if self.links is None else joined_links(self.links, found)


@dataclass(slots=True)
class Turn:
    """A request's position in the queue.

    client          for fair queueing; None for a separate one
    deadline        by the schedulers' clock
    timings         collects its times
    may_be_refused  whether a full queue may reject it; started work is finished
    """

    client: Hashable
    deadline: float
    timings: Timings
    may_be_refused: bool = True


async def translate_blocks(
    blocks: Sequence[Block], steps: Sequence[PlannedStep], turn: Turn
) -> None:
    """Add a pass for each step to each block. Raises as `Shelf.lent` and `Scheduler.translate`.

    One model is lent at a time: two of a path need not be loaded at once.
    """
    for planned in steps:
        began = time.perf_counter()
        async with planned.ready(turn.deadline) as step:
            turn.timings.queue += time.perf_counter() - began
            await translate_step(blocks, step, turn, tells=planned is steps[-1])


async def translate_step(
    blocks: Sequence[Block], step: Step, turn: Turn, *, tells: bool = True
) -> None:
    """Add a pass to each block; with `tells`, also to its feed. Raises as `Scheduler.translate`."""
    with turn.timings.measure("tokenize"):
        await _read(blocks, step)
    await _search(blocks, step, turn, tells=tells)
    with turn.timings.measure("decode"):
        await _link(blocks, step, turn)


async def _read(blocks: Sequence[Block], step: Step) -> None:
    """Split into segments, lift placeholders, find terms, tokenise."""

    def read() -> None:
        for block in blocks:
            text = block.answer().text
            block.passes.append(SegmentedText(text, step.reading, with_tokens=block.tagged))

    await off_the_loop(read, sum(len(block.text) for block in blocks))


async def _search(blocks: Sequence[Block], step: Step, turn: Turn, *, tells: bool) -> None:
    """Search through the queue until every segment has a rendering."""
    lane = _lane(blocks)
    feeds = [(block.passes[-1], block.feed if tells else None) for block in blocks]
    texts = [LiveText(text, feed) if feed else text for text, feed in feeds]
    n_characters = sum(len(block.text) for block in blocks)
    # A segment whose translation is not acceptable is pending again, in another form.
    while pending := await _pending(texts, n_characters):
        try:
            spent = await step.model.scheduler.translate(
                pending,
                lane=lane,
                client=turn.client,
                deadline=turn.deadline,
                stream=isinstance(texts[0], LiveText),
                is_new=turn.may_be_refused,
            )
        except DeadlineExceededError:
            # A retry that comes too late leaves what there was before it, with its flags.
            if not all(text.give_up() for text in texts):
                raise
            break
        turn.may_be_refused = False
        turn.timings.queue += spent.queued
        turn.timings.decode += spent.worked
        turn.timings.detokenize += spent.settled
    await _tell_rest(texts)
    for text, _ in feeds:
        for reason, n in text.retried.items():
            step.model.scheduler.metrics.retried(reason, n)


async def _pending(
    texts: Sequence[SegmentedText | LiveText], n_characters: int
) -> list[Segment | LiveSegment]:
    """Review the segments searched so far, and return those to search for."""
    reviewed = [text for text in texts if text.needs_review]
    if reviewed:
        await off_the_loop(lambda: [text.review() for text in reviewed], n_characters)
    await _tell_rest(texts)
    return [segment for text in texts for segment in text.pending()]


async def _tell_rest(texts: Sequence[SegmentedText | LiveText]) -> None:
    for text in texts:
        while isinstance(text, LiveText) and text.tell_news():
            await asyncio.sleep(0)


async def _link(blocks: Sequence[Block], step: Step, turn: Turn) -> None:
    asker = Asker(turn.client, _lane(blocks))
    for block in blocks:
        if block.tagged:
            text = block.passes[-1]
            block.link(await step.model.explainer.word_links(text, step.direction, asker))


def _lane(blocks: Sequence[Block]) -> Lane:
    return lane_of(sum(len(block.passes[-1].segments) for block in blocks))


def lane_of(n_segments: int) -> Lane:
    """Return the lane of a request of so many segments."""
    return "interactive" if n_segments <= MAX_INTERACTIVE_SEGMENTS else "bulk"


async def off_the_loop(work: Callable[[], T], n_characters: int) -> T:
    """Run `work` in a thread if `n_characters` is large, and return its result.

    If this is cancelled, the thread ends at its next `check_wanted`.
    """
    return work() if n_characters <= MAX_INLINE_CHARACTERS else await in_thread(work)
