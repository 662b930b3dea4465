"""Translates texts with the models of a language path: read, search, link, explain, put down.

Used by requests and files; the command line uses the same stages, with its own engines instead of
the queue (`app.cli.translating.line_translator`). Long texts and lists pass through a window at a
time, so that their memory is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from app.concurrency.abandonment import in_thread
from app.concurrency.side_by_side import side_by_side
from app.errors import DeadlineExceededError
from app.observe.timings import Timings
from app.scheduling.fair_queue import Caller, Lane
from app.translation.explainer import Asked
from app.translation.language_paths import PlannedStep, Step
from app.translation.partial_results import LiveSegment
from app.translation.segments.layout import PART_CHARACTERS
from app.translation.segments.segment import Segment
from app.translation.translated_text import TranslatedText
from app.translation.windows import (
    MAX_INLINE_CHARACTERS,
    MAX_INTERACTIVE_SEGMENTS,
    Block,
    Part,
    Window,
    Windows,
    n_characters,
    n_segments,
)

T = TypeVar("T")

MOST_CHARACTERS = 8
"""Of a token, on average: more than in any language, so that a text has at least so many tokens."""


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

    def with_own_timings(self) -> Turn:
        """Return it for one of several works side by side; see `Timings.add_longest`."""
        return Turn(self.client, self.deadline, Timings(), self.may_be_refused)


@dataclass(frozen=True, slots=True)
class _Work:
    """How the windows of a step are translated; `n_characters` of them all."""

    step: Step
    turn: Turn
    lane: Lane
    asked: Asked | None
    n_characters: int


async def translate_blocks(
    blocks: Sequence[Block],
    steps: Sequence[PlannedStep],
    turn: Turn,
    asked: Asked | None = None,
) -> None:
    """Add a pass for each step to each block; `asked` are explanations of the last.

    One model is leased at a time: two need not be loaded at once. Raises as `ModelSlot.lease`,
    `Scheduler.search`, `Asked.count`.
    """
    for planned in steps:
        is_last = planned is steps[-1]
        began = time.perf_counter()
        async with planned.model.lease(turn.deadline) as model:
            turn.timings.queue += time.perf_counter() - began
            step = planned.with_model(model)
            await translate_step(blocks, step, turn, asked if is_last else None, tells=is_last)


async def translate_step(
    blocks: Sequence[Block],
    step: Step,
    turn: Turn,
    asked: Asked | None = None,
    *,
    tells: bool = True,
) -> None:
    """Add a pass to each block; with `tells`, also to its feed. Raises as `translate_blocks`."""
    windows = Windows(blocks, step, tells=tells)
    if turn.may_be_refused and windows.n_characters > PART_CHARACTERS:
        # What will be refused is not read: a crowd would keep the interpreter busy with that.
        step.model.scheduler.check_capacity(windows.n_characters / MOST_CHARACTERS)
    with turn.timings.measure("tokenize"):
        first = await windows.next()
        second = await windows.next()
    lane = "bulk" if second else lane_of(n_segments(first))
    work = _Work(step, turn, lane, asked, windows.n_characters)
    if second:
        await _translate_windows([first, second], windows, work)
    else:
        await _translate_window(first, work)

    def end() -> None:
        for block in blocks:
            block.end_pass()

    await off_the_loop(end, windows.n_characters)


async def _translate_windows(started: Sequence[Window], windows: Windows, work: _Work) -> None:
    """Translate two windows side by side: while one finishes, the other keeps engines busy."""
    turn = work.turn

    async def go_through(window: Window, own: Turn) -> None:
        while window:
            pending.submitted(n_tokens(window))
            await _translate_window(window, replace(work, turn=own))
            await _room(window)
            with own.timings.measure("tokenize"):
                window = await windows.next()

    n_read = sum(map(n_characters, started))
    n_expected = sum(map(n_tokens, started)) * windows.n_characters / max(1, n_read)
    scheduler = work.step.model.scheduler
    with scheduler.announce(n_expected, may_be_refused=turn.may_be_refused) as pending:
        turn.may_be_refused = False
        turns = [turn.with_own_timings() for _ in started]
        await side_by_side(
            go_through(window, own) for window, own in zip(started, turns, strict=True)
        )
    turn.timings.add_longest([own.timings for own in turns])


def n_tokens(window: Window) -> int:
    """Return the number of source tokens of a window."""
    return sum(len(segment.source_ids) for part in window for segment in part.text.segments)


async def _room(window: Window) -> None:
    """Wait until a stream's client has read most of it."""
    for part in window:
        if part.live:
            await part.live.drain()


async def _translate_window(window: Window, work: _Work) -> None:
    """Search for all segments, link and explain them, and keep what belongs to the answer."""
    await _search(window, work)
    n_ranks = work.step.reading.options.n_best
    with work.turn.timings.measure("detokenize"):
        kept = await off_the_loop(
            lambda: [
                TranslatedText.of(part.text, n_ranks, is_part=not part.is_all) for part in window
            ],
            work.n_characters,
        )
    for part, translated in zip(window, kept, strict=True):
        if part.block.tagged or work.asked:
            with work.turn.timings.measure("decode"):
                await _explain(part, translated, work)
        part.block.add(part.start, translated)


async def _search(window: Window, work: _Work) -> None:
    """Search through the queue until every segment has a rendering."""
    turn, scheduler = work.turn, work.step.model.scheduler
    # A segment whose translation is not acceptable is pending again, in another form.
    while pending := await _pending(window, work):
        try:
            spent = await scheduler.search(
                pending,
                lane=work.lane,
                client=turn.client,
                deadline=turn.deadline,
                stream=any(part.live for part in window),
                is_new=turn.may_be_refused,
            )
        except DeadlineExceededError:
            # A retry that comes too late leaves what there was before it, with its flags.
            if not all(part.text.give_up() for part in window):
                raise
            break
        turn.may_be_refused = False
        turn.timings.queue += spent.queued
        turn.timings.decode += spent.worked
        turn.timings.detokenize += spent.settled
    await _tell_rest(window)
    for part in window:
        for reason, n in part.text.retried.items():
            scheduler.metrics.retries(reason).inc(n)


async def _pending(window: Window, work: _Work) -> list[Segment | LiveSegment]:
    """Review the segments searched so far, and return those to search for."""
    reviewed = [part.text for part in window if part.text.needs_review]
    if reviewed:

        def review() -> None:
            for text in reviewed:
                text.review()

        await off_the_loop(review, work.n_characters)
    await _tell_rest(window)
    return [segment for part in window for segment in part.unsettled()]


async def _tell_rest(window: Window) -> None:
    for part in window:
        while part.live and part.live.tell_news():
            await asyncio.sleep(0)


async def _explain(part: Part, translated: TranslatedText, work: _Work) -> None:
    """Link the words of a part to place tags, and explain its segments, where requested."""
    explainer, direction = work.step.model.explainer, work.step.direction
    caller = Caller(work.turn.client, work.lane)
    if part.block.tagged:
        translated.links = await explainer.word_links(part.text, direction, caller)
    if work.asked:
        work.asked.count(part.text.segments)
        translated.explained = await explainer.explain(part.text, direction, work.asked, caller)


def lane_of(n_segments: int) -> Lane:
    """Return the lane of a request of so many segments."""
    return "interactive" if n_segments <= MAX_INTERACTIVE_SEGMENTS else "bulk"


async def off_the_loop(work: Callable[[], T], n_characters: int) -> T:
    """Run `work` in a thread if `n_characters` is large, and return its result.

    If this is cancelled, the thread ends at its next `check_wanted`.
    """
    return work() if n_characters <= MAX_INLINE_CHARACTERS else await in_thread(work)
