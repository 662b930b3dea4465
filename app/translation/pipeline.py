"""Translates blocks with the models of a language path: read, search, detokenise, explain.

Used by requests and files; the command line uses the same stages with its own engines instead of
the queue (`model.translator`). Long texts and lists pass through a window at a time, so that their
memory is bounded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from app.concurrency.coroutines import side_by_side
from app.concurrency.threads import in_thread
from app.errors import DeadlineExceededError
from app.observe.timings import Timings
from app.scheduling.fair_queue import Caller, Lane
from app.translation.block import Block
from app.translation.explainer import ExplanationOptions
from app.translation.language_paths import PlannedStep, Step
from app.translation.partial_results import LiveSegment
from app.translation.segments.layout import PART_CHARACTERS
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from app.translation.windows import (
    MAX_INLINE_CHARACTERS,
    MAX_INTERACTIVE_SEGMENTS,
    Window,
    Windows,
)

T = TypeVar("T")

MAX_MEAN_TOKEN_CHARACTERS = 8
"""More characters than a token has on average in any language, to estimate tokens from below."""


@dataclass(slots=True)
class RequestContext:
    """The data that the stages of a request share.

    client          for fair queueing; None for a separate one
    deadline        by the schedulers' clock
    timings         collects its times
    may_be_refused  whether a full queue may reject it; started work is finished
    """

    client: Hashable
    deadline: float
    timings: Timings
    may_be_refused: bool = True

    def fork(self) -> RequestContext:
        """Return a copy with its own timings, for concurrent work; see `Timings.add_longest`."""
        return replace(self, timings=Timings())


async def translate_blocks(
    blocks: Sequence[Block],
    steps: Sequence[PlannedStep],
    context: RequestContext,
    explanations: ExplanationOptions | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Sequence[Block]:
    """Return the blocks as translated by the last step; `explanations` are of this step.

    One model is leased at a time: two need not be loaded at once. `progress` receives the share
    that is done. Raises as `ModelSlot.lease`, `Scheduler.search`, `ExplanationOptions.count`.
    """

    def report(n_before: int, share: float) -> None:
        progress((n_before + share) / len(steps))

    for number, planned in enumerate(steps):
        is_last = planned is steps[-1]
        if number:
            blocks = [block.following() for block in blocks]
        began = time.perf_counter()
        async with planned.lease(context.deadline) as model:
            context.timings.queue += time.perf_counter() - began
            await translate_step(
                blocks,
                planned.with_model(model),
                context,
                explanations if is_last else None,
                streams=is_last,
                progress=partial(report, number),
            )
    return blocks


async def translate_step(
    blocks: Sequence[Block],
    step: Step,
    context: RequestContext,
    explanations: ExplanationOptions | None = None,
    *,
    streams: bool = True,
    progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Translate the blocks with one model; with `streams`, feeds receive the translations.

    Raises as `translate_blocks`.
    """
    windows = Windows(blocks, step.reading, streams=streams)
    if context.may_be_refused and windows.n_characters > PART_CHARACTERS:
        # Check queue space before tokenising: refused requests should cost little CPU.
        step.model.scheduler.check_capacity(windows.n_characters / MAX_MEAN_TOKEN_CHARACTERS)
    with context.timings.measure("tokenize"):
        first = await windows.next()
        second = await windows.next()
    lane: Lane = "bulk" if second else lane_of(first.n_segments)
    run = _StepRun(step, context, lane, explanations, windows.n_characters)
    if second:
        await run.translate_windows([first, second], windows, progress)
    else:
        await run.translate_window(first)

    def finish() -> None:
        for block in blocks:
            block.finish()

    await off_the_loop(finish, windows.n_characters)
    progress(1.0)


@dataclass(frozen=True, slots=True)
class _StepRun:
    """One model's work on a request's windows, which have `n_characters` in all."""

    step: Step
    context: RequestContext
    lane: Lane
    explanations: ExplanationOptions | None
    n_characters: int

    async def translate_windows(
        self, started: Sequence[Window], windows: Windows, progress: Callable[[float], None]
    ) -> None:
        """Translate two windows concurrently: while one finishes, the other keeps engines busy."""
        context, scheduler = self.context, self.step.model.scheduler
        n_done = 0

        async def translate_following(window: Window, run: _StepRun) -> None:
            nonlocal n_done
            while window:
                pending.submitted(window.n_tokens)
                await run.translate_window(window)
                for part, _ in window:
                    if part.live:
                        await part.live.drain()
                n_done += window.n_characters
                progress(n_done / max(1, self.n_characters))
                with run.context.timings.measure("tokenize"):
                    window = await windows.next()

        n_read = sum(window.n_characters for window in started)
        n_tokens = sum(window.n_tokens for window in started)
        n_expected = n_tokens * windows.n_characters / max(1, n_read)
        with scheduler.announce(n_expected, may_be_refused=context.may_be_refused) as pending:
            context.may_be_refused = False
            runs = [replace(self, context=context.fork()) for _ in started]
            await side_by_side(
                translate_following(window, run) for window, run in zip(started, runs, strict=True)
            )
        context.timings.add_longest([run.context.timings for run in runs])

    async def translate_window(self, window: Window) -> None:
        """Search for all segments, link and explain them, and keep what belongs to the answer."""
        await self._search(window)
        n_ranks = self.step.reading.options.n_best
        timings = self.context.timings

        def keep() -> None:
            for part, text in window:
                part.keep(text, n_ranks)

        with timings.measure("detokenize"):
            await off_the_loop(keep, self.n_characters)
        for part, text in window:
            if part.tagged or self.explanations:
                with timings.measure("decode"):
                    await self._explain(part, text)

    async def _search(self, window: Window) -> None:
        """Search through the queue until every segment has a rendering."""
        context, scheduler = self.context, self.step.model.scheduler
        # A segment whose translation is not acceptable is pending again, in another form.
        while pending := await self._pending(window):
            try:
                spent = await scheduler.search(
                    pending,
                    lane=self.lane,
                    client=context.client,
                    deadline=context.deadline,
                    stream=any(part.live for part, _ in window),
                    is_new=context.may_be_refused,
                )
            except DeadlineExceededError:
                # A retry that comes too late leaves what there was before it, with its flags.
                if not all(text.give_up() for _, text in window):
                    raise
                break
            context.may_be_refused = False
            context.timings.queue += spent.queued
            context.timings.decode += spent.worked
            context.timings.detokenize += spent.settled
        await _send_rest(window)
        for _, text in window:
            for reason, n in text.retried.items():
                scheduler.metrics.retries(reason).inc(n)

    async def _pending(self, window: Window) -> list[Segment | LiveSegment]:
        """Review the segments searched so far, and return those to search for."""
        if reviewed := [text for _, text in window if text.needs_review]:

            def review() -> None:
                for text in reviewed:
                    text.review()

            await off_the_loop(review, self.n_characters)
        await _send_rest(window)
        pending: list[Segment | LiveSegment] = []
        for part, text in window:
            if live := part.live:
                pending += [LiveSegment(segment, live) for segment in text.unsettled]
            else:
                pending += text.unsettled
        return pending

    async def _explain(self, part: Block, text: SegmentedText) -> None:
        """Link words to place tags, and explain the segments, where requested."""
        explainer = self.step.model.explainer
        caller = Caller(self.context.client, self.lane)
        if part.tagged:
            part.links = await explainer.word_links(text, caller)
        if self.explanations:
            self.explanations.count(text.segments)
            part.explained = await explainer.explain(text, self.explanations, caller)


async def _send_rest(window: Window) -> None:
    for part, _ in window:
        while part.live and part.live.send():
            await asyncio.sleep(0)


def lane_of(n_segments: int) -> Lane:
    """Return the lane for a number of segments."""
    return "interactive" if n_segments <= MAX_INTERACTIVE_SEGMENTS else "bulk"


async def off_the_loop(work: Callable[[], T], n_characters: int) -> T:
    """Run `work` in a thread if `n_characters` is large, and return its result.

    If this is cancelled, the thread ends at its next `check_abandoned`.
    """
    return work() if n_characters <= MAX_INLINE_CHARACTERS else await in_thread(work)
