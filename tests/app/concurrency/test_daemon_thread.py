"""Blocking work beside the event loop."""

from __future__ import annotations

import weakref

import pytest

from app.concurrency.daemon_thread import in_background
from tests.app.asynchronous import asynchronous


class Work:
    def __init__(self, result: object) -> None:
        self.result = result

    def __call__(self) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@asynchronous
async def test_the_result_or_the_error_is_passed_on() -> None:
    assert await in_background(Work(7)) == 7
    with pytest.raises(ZeroDivisionError):
        await in_background(Work(ZeroDivisionError()))


@asynchronous
async def test_the_work_is_dropped_before_its_result_is_there() -> None:
    """Else a model that was let go would still be there when its memory is returned."""
    for _ in range(20):
        work = Work(7)
        dropped = weakref.ref(work)
        waiting = in_background(work)
        del work
        await waiting
        assert dropped() is None
