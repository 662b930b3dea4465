"""Runs coroutines concurrently; the first failure cancels the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. Raises the first error after cancelling the others."""
    pending = list(coroutines)
    if len(pending) <= 1:  # as in most requests: no task needed
        return [await one for one in pending]
    outcome = await _together(pending)
    if isinstance(outcome, list):
        return outcome
    try:
        raise outcome from outcome.__cause__
    finally:  # the traceback has this frame: avoid a reference cycle
        del outcome, pending


async def _together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T] | BaseException:
    """Return the results, or the first error once all have ended.

    A cancelled `asyncio.TaskGroup` would keep itself and the frames around it in a cycle.
    """
    tasks = [asyncio.create_task(one) for one in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        failed = [one for one in tasks if one in done and not one.cancelled() and one.exception()]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    error = failed[0].exception() if failed else None
    return [task.result() for task in tasks] if error is None else error
