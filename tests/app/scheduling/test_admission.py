from __future__ import annotations

import asyncio

import pytest

from app.errors import DeadlineExceededError, QueueFullError
from app.scheduling.admission import PRUDENCE, Places
from tests.app.asynchronous import asynchronous


async def take(places: Places, timeout: float = 10) -> None:
    async with places.place(timeout):
        pass


@asynchronous
async def test_who_finds_no_place_is_told_when_to_come_back_and_a_place_freed_is_given_again() -> (
    None
):
    places = Places(2, forecast=lambda: 6.5)
    async with places.place(10), places.place(10):
        with pytest.raises(QueueFullError) as refused:
            await take(places)
    assert refused.value.retry_after == 7
    async with places.place(10):
        await take(places)


@pytest.mark.parametrize(("forecast", "retry_after"), [(0.001, 1), (12.1, 13), (6000, 60)])
@asynchronous
async def test_the_forecast_is_when_to_come_back_within_bounds(
    forecast: float, retry_after: int
) -> None:
    places = Places(1, forecast=lambda: forecast)
    async with places.place(10):
        with pytest.raises(QueueFullError) as refused:
            await take(places)
    assert refused.value.retry_after == retry_after


@asynchronous
async def test_who_could_not_be_answered_in_time_is_not_admitted_unless_nobody_else_is() -> None:
    places = Places(10, forecast=lambda: 99.0, delay=lambda: 5.0)
    async with places.place(1):
        await take(places, timeout=5 / PRUDENCE + 0.1)
        with pytest.raises(QueueFullError, match="too late") as refused:
            await take(places, timeout=5 / PRUDENCE - 0.1)
    assert refused.value.retry_after == 5
    assert places.taken == 0


@asynchronous
async def test_the_deadline_is_by_the_clock_and_places_taken_are_counted() -> None:
    places = Places(2, forecast=lambda: 0.5, clock=lambda: 100.0)
    assert places.taken == 0
    async with places.place(5) as deadline:
        assert (deadline, places.taken) == (105, 1)
    assert places.taken == 0


@pytest.mark.parametrize("failure", [ValueError, TimeoutError, asyncio.CancelledError])
@asynchronous
async def test_a_failure_is_passed_on_and_frees_the_place(failure: type[BaseException]) -> None:
    places = Places(1, forecast=lambda: 0.5)
    with pytest.raises(failure):
        async with places.place(10):
            raise failure
    await take(places)


@asynchronous
async def test_the_deadline_cancels_the_work_and_frees_the_place() -> None:
    places = Places(1, forecast=lambda: 0.5)
    with pytest.raises(DeadlineExceededError, match=r"within 0.01 s"):
        async with places.place(0.01):
            await asyncio.Event().wait()
    await take(places)
