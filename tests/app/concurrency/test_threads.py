"""Blocking work beside the event loop."""

import os
import sys
import threading
import weakref

import pytest

from app.concurrency.threads import NICENESS, in_background, step_back
from model.engine.protocol import Finished
from tests.app.fake_engine import FakeEngine
from tests.app.scheduling.harness import running, submit

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="niceness of threads is Linux's")


class Work:
    def __init__(self, result: object) -> None:
        self.result = result

    def __call__(self) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


async def test_the_result_or_the_error_is_passed_on() -> None:
    assert await in_background(Work(7)) == 7
    with pytest.raises(ZeroDivisionError):
        await in_background(Work(ZeroDivisionError()))


async def test_the_work_is_dropped_before_its_result_is_there() -> None:
    """An unloaded model must be gone when its memory is returned."""
    for _ in range(20):
        work = Work(7)
        dropped = weakref.ref(work)
        waiting = in_background(work)
        del work
        await waiting
        assert dropped() is None


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def in_a_thread(after: list[int]) -> None:
    def run() -> None:
        step_back()
        after.append(niceness())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


@on_linux
def test_a_thread_steps_back_and_takes_no_other_with_it() -> None:
    before, after = niceness(), list[int]()
    in_a_thread(after)
    assert after == [min(19, before + NICENESS)]
    assert niceness() == before


@on_linux
def test_without_permission_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    after: list[int] = []
    in_a_thread(after)
    assert after == [niceness()]


@on_linux
async def test_engines_step_back(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, seen = FakeEngine(), list[int]()
    step = engine.step

    def noted() -> list[Finished]:
        seen.append(niceness())
        return step()

    monkeypatch.setattr(engine, "step", noted)
    async with running(engine) as scheduler:
        await submit(scheduler, 11)
    assert set(seen) == {min(19, niceness() + NICENESS)}
