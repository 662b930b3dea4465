"""Blocking work in threads."""

import asyncio
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial

import pytest

from app.concurrency.threads import (
    NICENESS,
    AbandonedError,
    check_abandoned,
    in_background,
    in_thread,
    step_back,
)
from app.documents.files import file_format
from app.text.document import Answer
from app.text.markup.document import MarkupDocument
from app.text.markup.tokens import Format
from app.text.segmentation import each_segment
from app.translation.segments.segmented_text import SegmentedText
from model.engine.protocol import Finished
from tests.app.conftest import Serve
from tests.app.fake_engine import FakeEngine
from tests.app.routes.test_files import FILES
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
    """An unloaded model must be freed before memory is returned to the system."""
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
def test_a_thread_lowers_only_its_own_priority() -> None:
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
async def test_engine_threads_lower_their_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, seen = FakeEngine(), list[int]()
    step = engine.step

    def noted() -> list[Finished]:
        seen.append(niceness())
        return step()

    monkeypatch.setattr(engine, "step", noted)
    async with running(engine) as scheduler:
        await submit(scheduler, 11)
    assert set(seen) == {min(19, niceness() + NICENESS)}


async def test_a_thread_whose_result_is_awaited_continues() -> None:
    def work() -> str:
        check_abandoned()
        return "done"

    check_abandoned()  # outside of any thread
    assert await in_thread(work) == "done"


async def abandoned(work: Callable[[], object]) -> BaseException | None:
    """Return how work ends whose result is abandoned at its start."""
    ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
    loop = asyncio.get_running_loop()
    started, may_continue = threading.Event(), threading.Event()

    def run() -> None:
        started.set()
        may_continue.wait(60)
        error: BaseException | None = None
        try:
            work()
        except BaseException as raised:
            error = raised
        loop.call_soon_threadsafe(ended.set_result, error)

    waiting = asyncio.create_task(in_thread(run))
    await asyncio.to_thread(started.wait, 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    may_continue.set()
    return await ended


@pytest.mark.parametrize("name", FILES)
async def test_an_abandoned_file_is_read_and_written_no_further(name: str) -> None:
    open_file, data = file_format(name).open, FILES[name]
    document = open_file(data)
    answers = [Answer(text + "s") for text in document.texts]
    for work in (partial(open_file, data), partial(document.with_translations, answers)):
        assert isinstance(await abandoned(work), AbandonedError)


@pytest.mark.parametrize("markup", ["html", "xml"])
async def test_abandoned_markup_is_read_no_further(markup: Format) -> None:
    error = await abandoned(lambda: MarkupDocument("<p>a</p>" * 10, markup))
    assert isinstance(error, AbandonedError)


async def test_an_abandoned_text_is_segmented_no_further() -> None:
    error = await abandoned(lambda: list(each_segment("The dog. " * 1000, "en")))
    assert isinstance(error, AbandonedError)


@pytest.mark.parametrize("is_file", [False, True])
async def test_cutting_timeout(
    serve: Serve, is_file: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut: list[str] = []

    def slow(_: str, window: str) -> list[str]:
        time.sleep(0.02)
        cut.append(window)
        return [window]

    text = "The dog is green. " * 5000
    async with serve(FakeEngine(), file_timeout=0.3) as client:
        monkeypatch.setattr("app.text.segmentation.sentencex.segment", slow)
        if is_file:
            sending = client.post(
                "/translate_file", files={"file": ("a.txt", text.encode())}, data={"target": "fr"}
            )
        else:
            headers = {"X-Request-Timeout": "0.3"}
            sending = client.post(
                "/translate", json={"text": text, "target": "fr"}, headers=headers
            )
        assert (await sending).status_code == 504
        n_cut = len(cut)
        await asyncio.sleep(0.3)
    assert n_cut < 80
    assert len(cut) <= n_cut + 2


async def test_retries_tokenised_in_a_thread(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake engine reverses sentences, which breaks their placeholders."""
    async with serve(FakeEngine()) as client:
        threads: list[threading.Thread] = []
        review = SegmentedText.review

        def note(text: SegmentedText) -> None:
            if text.needs_review:
                threads.append(threading.current_thread())
            review(text)

        monkeypatch.setattr(SegmentedText, "review", note)
        for stream in (False, True):
            body = {"text": "The {x} dog. " * 500, "target": "fr", "stream": stream}
            answer = await client.post("/translate", json=body)
            assert answer.status_code == 200
    assert threads
    assert threading.current_thread() not in threads
