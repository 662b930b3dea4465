from __future__ import annotations

import os
import sys
import threading

import pytest

from app.concurrency.thread_priority import NICENESS, step_back
from model.engine.protocol import Finished
from tests.app.asynchronous import asynchronous
from tests.app.fake_engine import FakeEngine
from tests.app.scheduling.harness import running, submit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="said of threads on Linux alone")


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


def in_a_thread(after: list[int]) -> None:
    def run() -> None:
        step_back()
        after.append(niceness())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_a_thread_steps_back_and_takes_no_other_with_it() -> None:
    before, after = niceness(), list[int]()
    in_a_thread(after)
    assert after == [min(19, before + NICENESS)]
    assert niceness() == before


def test_where_it_is_not_allowed_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "setpriority", refuse)
    after: list[int] = []
    in_a_thread(after)
    assert after == [niceness()]


@asynchronous
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
