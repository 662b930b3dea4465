"""Runs coroutines concurrently; the first failure cancels the others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def side_by_side(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. Raises the first error after cancelling the others."""
    waiting = list(works)
    if len(waiting) == 1:  # as in most requests: no task needed
        return [await waiting[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in waiting]
    except BaseExceptionGroup as failures:
        failure, *_ = failures.exceptions
        raise failure from failure.__cause__
    return [task.result() for task in tasks]
