import asyncio
import threading
from random import Random

import pytest

from app.concurrency.threads import in_thread
from app.errors import DeadlineExceededError, QueueFullError
from app.scheduling.admission import (
    CLEAN_UP_FRACTION,
    MAX_DELAY_FRACTION,
    MAX_WAITING_CAPACITIES,
    MIN_COUNTED_FRACTION,
    Admission,
    CapacityLimiter,
)


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


async def test_requests_that_would_miss_their_deadline_are_refused_unless_alone() -> None:
    admission = Admission(10, forecast=lambda: 99.0, delay=lambda: 5.0)
    async with admission.slot(1):
        await take(admission, timeout=5 / MAX_DELAY_FRACTION + 0.1)
        with pytest.raises(QueueFullError, match="too late") as refused:
            await take(admission, timeout=5 / MAX_DELAY_FRACTION - 0.1)
    assert refused.value.retry_after == 5
    assert admission.n_admitted == 0


async def test_the_deadline_is_by_the_clock_and_taken_slots_are_counted() -> None:
    admission = Admission(2, forecast=lambda: 0.5, clock=lambda: 100.0)
    assert admission.n_admitted == 0
    async with admission.slot(5) as deadline:
        assert (deadline, admission.n_admitted) == (105, 1)
    assert admission.n_admitted == 0


@pytest.mark.parametrize("failure", [ValueError, TimeoutError, asyncio.CancelledError])
async def test_a_failure_is_passed_on_and_frees_the_slot(failure: type[BaseException]) -> None:
    admission = Admission(1, forecast=lambda: 0.5)
    with pytest.raises(failure):
        async with admission.slot(10):
            raise failure
    await take(admission)


async def test_the_deadline_cancels_the_work_and_frees_the_slot() -> None:
    admission = Admission(1, forecast=lambda: 0.5)
    with pytest.raises(DeadlineExceededError, match=r"within 0.01 s"):
        async with admission.slot(0.01):
            await asyncio.Event().wait()
    await take(admission)


async def test_slots_in_turn_are_taken_in_order_and_by_waiting_requests_only() -> None:
    admission = Admission(1, forecast=lambda: 1.0)
    order: list[str] = []
    finish = asyncio.Event()

    async def wait(name: str) -> None:
        async with admission.slot_in_turn(10):
            order.append(name)
            if name == "first":
                await finish.wait()

    tasks = [asyncio.create_task(wait(name)) for name in ("first", "second", "third", "fourth")]
    await asyncio.sleep(0)
    assert order == ["first"]
    with pytest.raises(QueueFullError):
        async with admission.slot(10):
            pass
    tasks[1].cancel()
    finish.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["first", "third", "fourth"]
    assert admission.n_admitted == 0


async def test_a_request_cancelled_at_its_turn_wakes_the_next() -> None:
    admission = Admission(1, forecast=lambda: 1.0)
    got: list[str] = []

    async def wait(name: str) -> None:
        async with admission.slot_in_turn(10):
            got.append(name)

    async with admission.slot(10):
        second, third = (asyncio.create_task(wait(name)) for name in ("second", "third"))
        await asyncio.sleep(0)
    second.cancel()  # woken, but has not run yet
    await asyncio.wait([second, third])
    assert got == ["third"]


async def test_the_time_of_a_slot_in_turn_begins_with_it() -> None:
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


CAPACITY = 6400
MIN_COUNTED = int(MIN_COUNTED_FRACTION * CAPACITY)
MIN_CLEAN_UP = int(CLEAN_UP_FRACTION * CAPACITY)


class Requests:
    """Requests that wait for capacity; `inside` are the names of those that hold it."""

    def __init__(self) -> None:
        self.limiter = CapacityLimiter(CAPACITY)
        self.admitted: list[str] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def submit(self, name: str, size: int, client: object = None) -> None:
        """Request capacity, and wait for it if necessary."""
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._hold(name, size, client))
        await settled()

    async def _hold(self, name: str, size: int, client: object) -> None:
        async with self.limiter.reserve(size, client):
            self.admitted.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.admitted.remove(name)

    async def complete(self, *names: str) -> None:
        """Complete requests."""
        for name in names:
            self._ends[name].set()
        await asyncio.gather(*(self._tasks[name] for name in names))
        await settled()

    async def cancel_requests(self, *names: str) -> None:
        """Cancel them, waiting or inside."""
        for name in names:
            self._tasks[name].cancel()
        await asyncio.gather(*(self._tasks[name] for name in names), return_exceptions=True)
        await settled()


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_large_requests_wait_for_capacity_and_small_ones_do_not() -> None:
    requests = Requests()
    await requests.submit("large", CAPACITY)
    await requests.submit("next", CAPACITY // 2)
    await requests.submit("small", MIN_COUNTED - 1)
    assert requests.admitted == ["large", "small"]
    await requests.complete("large", "small")
    assert requests.admitted == ["next"]
    await requests.complete("next")


async def test_a_request_larger_than_the_capacity_takes_all_of_it() -> None:
    requests = Requests()
    await requests.submit("half", CAPACITY // 2)
    await requests.submit("giant", 10 * CAPACITY)
    assert requests.admitted == ["half"]
    await requests.complete("half")
    await requests.submit("next", CAPACITY // 2)
    assert requests.admitted == ["giant"]
    await requests.complete("giant")
    assert requests.admitted == ["next"]
    await requests.complete("next")


async def test_clients_take_turns_and_nobody_overtakes() -> None:
    requests = Requests()
    await requests.submit("first", CAPACITY)
    for name in ("a1", "a2", "a3"):
        await requests.submit(name, CAPACITY * 2 // 3, "a")
    await requests.submit("b1", CAPACITY * 2 // 3, "b")
    await requests.submit("b2", CAPACITY // 2, "b")
    order: list[str] = []
    while requests.admitted:
        order += requests.admitted
        await requests.complete(*requests.admitted)
    assert order == ["first", "a1", "b1", "a2", "b2", "a3"]


async def test_requests_without_a_client_are_clients_of_their_own() -> None:
    requests = Requests()
    await requests.submit("first", CAPACITY)
    for name, client in (("a1", "a"), ("a2", "a"), ("x", None), ("y", None)):
        await requests.submit(name, CAPACITY, client)
    order: list[str] = []
    while requests.admitted:
        order += requests.admitted
        await requests.complete(*requests.admitted)
    assert order == ["first", "a1", "x", "y", "a2"]


async def test_cancelled_requests_make_way_for_those_behind() -> None:
    requests = Requests()
    await requests.submit("half", CAPACITY // 2)
    await requests.submit("large", CAPACITY)
    await requests.submit("other half", CAPACITY // 2)
    assert requests.admitted == ["half"]
    await requests.cancel_requests("large")
    assert requests.admitted == ["half", "other half"]
    await requests.cancel_requests("half", "other half")
    await requests.submit("whole", CAPACITY)
    assert requests.admitted == ["whole"]
    await requests.complete("whole")


async def test_a_request_cancelled_upon_admission_releases_its_capacity() -> None:
    requests = Requests()
    await requests.submit("first", CAPACITY)
    await requests.submit("second", CAPACITY)
    await requests.submit("third", CAPACITY)
    requests._ends["first"].set()
    while requests.admitted:
        await asyncio.sleep(0)
    await requests.cancel_requests("second")
    assert requests.admitted == ["third"]
    await requests.complete("third")


@pytest.mark.parametrize("seed", range(20))
async def test_capacity_is_not_exceeded_and_every_request_is_admitted(seed: int) -> None:
    chooser = Random(seed)
    limiter, taken, most, done = CapacityLimiter(CAPACITY), 0, 0, 0

    async def visit(size: int) -> None:
        nonlocal taken, most, done
        async with limiter.reserve(size, chooser.randrange(3)):
            taken += min(size, CAPACITY)
            most = max(most, taken)
            try:
                for _ in range(chooser.randrange(4)):
                    await asyncio.sleep(0)
            finally:
                taken -= min(size, CAPACITY)
        done += 1

    sizes = [chooser.randrange(MIN_COUNTED, CAPACITY // 10) for _ in range(50)]
    sizes += [CAPACITY + 10]
    tasks = [asyncio.create_task(visit(size)) for size in sizes]
    await settled()
    given_up = [task for task in chooser.sample(tasks, 10) if task.cancel()]
    await asyncio.wait(tasks)
    assert most <= CAPACITY
    assert done == len(tasks) - sum(task.cancelled() for task in given_up)
    async with asyncio.timeout(60), limiter.reserve(CAPACITY):
        pass


async def test_a_line_that_is_too_long_grows_no_longer() -> None:
    requests = Requests()
    names = [str(number) for number in range(MAX_WAITING_CAPACITIES + 1)]
    for name in names:
        await requests.submit(name, CAPACITY, name)
    with pytest.raises(QueueFullError, match="too many large requests wait"):
        async with requests.limiter.reserve(CAPACITY):
            pass
    await requests.submit("small", MIN_COUNTED - 1)
    assert requests.admitted == ["0", "small"]
    await requests.cancel_requests("2")
    await requests.submit("instead", CAPACITY)
    await requests.complete("small", *names[:2], *names[3:], "instead")


async def test_an_abandoned_thread_holds_its_capacity_until_it_ends() -> None:
    """Its work still takes memory."""
    limiter, started, may_end = CapacityLimiter(CAPACITY), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        may_end.wait(60)

    async def visit() -> None:
        async with limiter.reserve(CAPACITY):
            await in_thread(work)

    visitor = asyncio.create_task(visit())
    while not started.is_set():
        await asyncio.sleep(0.001)
    visitor.cancel()
    await asyncio.wait([visitor])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), limiter.reserve(CAPACITY):
            pass
    may_end.set()
    async with asyncio.timeout(60), limiter.reserve(CAPACITY):
        pass


async def test_threads_that_have_ended_hold_nothing() -> None:
    limiter = CapacityLimiter(CAPACITY)
    async with limiter.reserve(CAPACITY):
        await asyncio.gather(*(in_thread(lambda: None) for _ in range(5)))
    async with asyncio.timeout(60), limiter.reserve(CAPACITY):
        pass


async def test_memory_is_cleaned_up_after_a_very_large_request() -> None:
    cleaned = threading.Event()
    limiter = CapacityLimiter(CAPACITY, clean_up=cleaned.set)
    async with limiter.reserve(MIN_CLEAN_UP - 1):
        pass
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    assert not cleaned.is_set()
    async with limiter.reserve(MIN_CLEAN_UP):
        assert not cleaned.is_set()
    assert await asyncio.to_thread(cleaned.wait, 10)
