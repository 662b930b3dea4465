"""Runs coroutines concurrently; the first failure cancels the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. Raises the first error after cancelling the others."""
    waiting = list(works)
    if len(waiting) <= 1:  # as in most requests: no task needed
        return [await one for one in waiting]
    outcome = await _together(waiting)
    if isinstance(outcome, list):
        return outcome
    try:
        raise outcome from outcome.__cause__
    finally:  # its traceback has this frame: what the works hold would be left to the collector
        del outcome, waiting


async def _together(works: Sequence[Coroutine[Any, Any, T]]) -> list[T] | BaseException:
    """Return the results, or the first error once all have ended.

    (A cancelled `asyncio.TaskGroup` keeps itself, and what is in the frames around it, until the
    collector comes by.)
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        failed = [one for one in tasks if one in done and not one.cancelled() and one.exception()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    error = failed[0].exception() if failed else None
    return [task.result() for task in tasks] if error is None else error
