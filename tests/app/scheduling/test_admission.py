import asyncio

import pytest

from app.errors import DeadlineExceededError, QueueFullError
from app.scheduling.admission import MAX_DELAY_FRACTION, Admission


async def take(admission: Admission, timeout: float = 10) -> None:
    async with admission.slot(timeout):
        pass


async def test_a_rejection_forecasts_when_a_slot_is_free() -> None:
    admission = Admission(2, forecast=lambda: 6.5)
    async with admission.slot(10), admission.slot(10):
        with pytest.raises(QueueFullError) as refused:
            await take(admission)
    assert refused.value.retry_after == 7
    async with admission.slot(10):
        await take(admission)


@pytest.mark.parametrize(("forecast", "retry_after"), [(0.001, 1), (12.1, 13), (6000, 60)])
async def test_retry_after_is_the_bounded_forecast(forecast: float, retry_after: int) -> None:
    admission = Admission(1, forecast=lambda: forecast)
    async with admission.slot(10):
        with pytest.raises(QueueFullError) as refused:
            await take(admission)
    assert refused.value.retry_after == retry_after


async def test_who_could_not_be_answered_in_time_is_not_admitted_unless_nobody_else_is() -> None:
    admission = Admission(10, forecast=lambda: 99.0, delay=lambda: 5.0)
    async with admission.slot(1):
        await take(admission, timeout=5 / MAX_DELAY_FRACTION + 0.1)
        with pytest.raises(QueueFullError, match="too late") as refused:
            await take(admission, timeout=5 / MAX_DELAY_FRACTION - 0.1)
    assert refused.value.retry_after == 5
    assert admission.n_admitted == 0


async def test_the_deadline_is_by_the_clock_and_places_taken_are_counted() -> None:
    admission = Admission(2, forecast=lambda: 0.5, clock=lambda: 100.0)
    assert admission.n_admitted == 0
    async with admission.slot(5) as deadline:
        assert (deadline, admission.n_admitted) == (105, 1)
    assert admission.n_admitted == 0


@pytest.mark.parametrize("failure", [ValueError, TimeoutError, asyncio.CancelledError])
async def test_a_failure_is_passed_on_and_frees_the_place(failure: type[BaseException]) -> None:
    admission = Admission(1, forecast=lambda: 0.5)
    with pytest.raises(failure):
        async with admission.slot(10):
            raise failure
    await take(admission)


async def test_the_deadline_cancels_the_work_and_frees_the_place() -> None:
    admission = Admission(1, forecast=lambda: 0.5)
    with pytest.raises(DeadlineExceededError, match=r"within 0.01 s"):
        async with admission.slot(0.01):
            await asyncio.Event().wait()
    await take(admission)


async def test_places_in_turn_are_taken_in_order_and_by_those_who_still_wait() -> None:
    admission = Admission(1, forecast=lambda: 1.0)
    order: list[str] = []
    leave = asyncio.Event()

    async def wait(name: str) -> None:
        async with admission.slot_in_turn(10):
            order.append(name)
            if name == "first":
                await leave.wait()

    tasks = [asyncio.create_task(wait(name)) for name in ("first", "second", "third", "fourth")]
    await asyncio.sleep(0)
    assert order == ["first"]
    with pytest.raises(QueueFullError):
        async with admission.slot(10):
            pass
    tasks[1].cancel()
    leave.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["first", "third", "fourth"]
    assert admission.n_admitted == 0


async def test_one_who_leaves_when_it_is_their_turn_wakes_the_next() -> None:
    admission = Admission(1, forecast=lambda: 1.0)
    got: list[str] = []

    async def wait(name: str) -> None:
        async with admission.slot_in_turn(10):
            got.append(name)

    async with admission.slot(10):
        second, third = (asyncio.create_task(wait(name)) for name in ("second", "third"))
        await asyncio.sleep(0)
    second.cancel()  # is woken, and has not run yet
    await asyncio.wait([second, third])
    assert got == ["third"]


async def test_the_time_of_a_place_in_turn_begins_with_it() -> None:
    admission = Admission(1, forecast=lambda: 1.0)

    async def wait() -> None:
        async with admission.slot_in_turn(0.01):
            await asyncio.sleep(10)

    async with admission.slot(10):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0.05)
        assert not waiting.done()
    with pytest.raises(DeadlineExceededError):
        await waiting
