"""Leases, loading one model at a time, eviction, failures and retries."""

import asyncio
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import structlog

from app.errors import DrainingError, ModelLoadingError, ModelTooLargeError, ModelUnavailableError
from app.observe.metrics import Metrics
from app.shelf.shelf import Shelf
from app.shelf.slot import FIRST_PAUSE, Lease, ModelSlot
from model.errors import CheckpointError
from tests.app.waiting import until

DEADLINE = 1e9


@dataclass
class FakeModel:
    n_bytes: int = 10
    works: bool = True
    failure: Exception | None = None
    started: int = 0
    stopped: int = 0

    async def start(self) -> None:
        self.started += 1
        if self.failure:
            raise self.failure

    async def stop(self) -> None:
        self.stopped += 1


@dataclass
class Loader:
    """Loads fake models; each load waits at `gate` until the test releases it."""

    n_bytes: int = 10
    gate: threading.Semaphore | None = None
    failure: Exception | None = None
    start_failure: Exception | None = None
    made: list[FakeModel] = field(default_factory=list)
    tried: int = 0

    def __call__(self) -> FakeModel:
        self.tried += 1
        if self.gate:
            assert self.gate.acquire(timeout=60)
        if self.failure:
            raise self.failure
        self.made.append(FakeModel(self.n_bytes, failure=self.start_failure))
        return self.made[-1]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def slots(n: int, **loader: object) -> tuple[list[ModelSlot[FakeModel]], list[Loader]]:
    loaders = [Loader(**loader) for _ in range(n)]  # type: ignore[arg-type]
    return [
        ModelSlot(f"model-{index}", load, expected=10) for index, load in enumerate(loaders)
    ], loaders


async def use(slot: ModelSlot[FakeModel], deadline: float = DEADLINE) -> FakeModel:
    async with Lease([slot], deadline) as model:
        return model


def loaded(shelf: Shelf[FakeModel]) -> list[str]:
    return [slot.name for slot in shelf.slots if slot.model]


async def test_a_model_is_loaded_on_demand_and_only_once() -> None:
    [slot, _], [loader, other] = slots(2)
    metrics = Metrics()
    shelf = Shelf([slot], metrics=metrics)
    await shelf.start()
    assert (slot.state, loader.tried) == ("known", 0)
    first, second = await asyncio.gather(use(slot), use(slot))
    assert first is second is await use(slot)
    assert (loader.tried, first.started, slot.state, other.tried) == (1, 1, "loaded", 0)
    text = metrics.exposition()[0].decode()
    assert 'attend_model_requests_total{model="model-0"} 3.0' in text
    assert 'attend_model_loads_total{model="model-0",outcome="done"} 1.0' in text
    await shelf.stop()
    assert first.stopped == 1


async def test_the_least_recently_used_model_is_unloaded_within_the_limit() -> None:
    (a, b, c), loaders = slots(3)
    shelf = Shelf([a, b, c], max_bytes=20)
    await use(a)
    await use(b)
    await use(a)
    await use(c)
    assert loaded(shelf) == ["model-0", "model-2"]
    assert loaders[1].made[0].stopped == 1
    assert shelf.n_bytes == 20
    await use(b)  # it is loaded again
    assert loaded(shelf) == ["model-1", "model-2"]
    assert len(loaders[1].made) == 2


async def test_a_model_in_use_is_unloaded_after_its_use_and_after_unused_ones() -> None:
    (a, b, c), loaders = slots(3)
    shelf = Shelf([a, b, c], max_bytes=20)
    async with Lease([a], DEADLINE) as used:
        await use(b)
        await use(c)  # a is older, but in use
        assert loaded(shelf) == ["model-0", "model-2"]
        async with Lease([c], DEADLINE) as other:
            waiting = asyncio.create_task(use(b))
            await until(lambda: a.unloading)
            back = asyncio.create_task(use(a))  # not leased, since it would never become free
            await asyncio.sleep(0.05)
            assert not waiting.done()
            assert (used.stopped, other.stopped) == (0, 0)
    assert await waiting is loaders[1].made[1]
    assert used.stopped == 1
    assert await back is loaders[0].made[1]


async def test_pinned_models_are_loaded_at_the_start_and_never_go() -> None:
    (a, b, c), _ = slots(3)
    a.pinned = True
    shelf = Shelf([a, b, c], max_bytes=20)
    await shelf.start()
    assert loaded(shelf) == ["model-0"]
    for _ in range(3):
        await use(b)
        await use(c)
    assert loaded(shelf) == ["model-0", "model-2"]


async def test_a_model_that_never_fits_is_refused_with_its_size() -> None:
    (a, b), loaders = slots(2)
    a.pinned = True
    shelf = Shelf([a, b], max_bytes=15)
    await shelf.start()
    with pytest.raises(ModelUnavailableError):
        await use(b)
    assert loaders[1].tried == 0
    assert b.failure
    assert b.failure.reason.startswith("'model-1' needs about 0 MB, and --model-memory leaves 0 MB")
    b.pinned = True
    with pytest.raises(ModelTooLargeError, match="'model-1' needs"):
        await Shelf([b], max_bytes=5).start()


async def test_a_model_that_grows_lets_others_go() -> None:
    (a, b), loaders = slots(2)
    shelf = Shelf([a, b], max_bytes=20)
    await use(a)
    async with Lease([b], DEADLINE) as model:
        model.n_bytes = 15
        assert loaded(shelf) == ["model-0", "model-1"]
    await until(lambda: loaded(shelf) == ["model-1"])
    await until(lambda: loaders[0].made[0].stopped == 1)


async def test_one_load_at_a_time_in_the_order_of_requests_and_others_do_not_wait() -> None:
    gate = threading.Semaphore(0)
    (a, b, c), loaders = slots(3)
    loaders[0].gate = loaders[1].gate = gate
    Shelf([a, b, c])
    await use(c)
    first, second = (asyncio.create_task(use(slot)) for slot in (a, b))
    await until(lambda: loaders[0].tried == 1)
    assert a.state == "loading"
    assert await use(c) is loaders[2].made[0]
    assert loaders[1].tried == 0
    gate.release()
    await first
    await until(lambda: loaders[1].tried == 1)
    assert not second.done()
    gate.release()
    await second


async def test_a_request_waits_within_its_deadline_and_gets_a_time_to_retry() -> None:
    (a,), [loader] = slots(1, gate=threading.Semaphore(0))
    shelf = Shelf([a])
    now = asyncio.get_running_loop().time()
    with pytest.raises(ModelLoadingError, match="'model-0' is being loaded") as early:
        await use(a, now + 0.3)
    assert early.value.retry_after >= 1
    assert asyncio.get_running_loop().time() < now + 0.3  # before its deadline
    assert loader.gate
    patient = asyncio.create_task(use(a))
    loader.gate.release()
    assert await patient is loader.made[0]  # the load for the first serves the second
    assert loader.tried == 1
    await shelf.stop()


async def test_a_wait_that_is_forecast_to_be_too_long_is_refused_at_once() -> None:
    clock = Clock()
    (a, b, c), loaders = slots(3)
    loaders[1].gate = threading.Semaphore(0)
    a.load = slow(clock, 5)
    Shelf([a, b, c], clock=clock)
    await use(a)
    before = asyncio.create_task(use(b))
    await until(lambda: b.loading)
    with pytest.raises(ModelLoadingError) as refused:
        await use(c, clock.now + 9)
    assert refused.value.retry_after == 10
    loaders[1].gate.release()
    await before
    assert loaders[2].tried == 0
    await use(c, clock.now + 9)


async def test_after_a_load_slower_than_requests_wait_others_are_loaded_nevertheless() -> None:
    clock = Clock()
    (a, b), loaders = slots(2)
    a.load = slow(clock, 40)
    Shelf([a, b], clock=clock)
    await use(a, clock.now + 60)
    assert await use(b, clock.now + 30) is loaders[1].made[0]


def slow(clock: Clock, seconds: float) -> Callable[[], FakeModel]:
    def load() -> FakeModel:
        clock.now += seconds
        return FakeModel()

    return load


async def test_models_without_waiting_requests_are_not_loaded() -> None:
    gate = threading.Semaphore(0)
    (a, b), loaders = slots(2)
    loaders[0].gate = gate
    shelf = Shelf([a, b])
    first, second = (asyncio.create_task(use(slot)) for slot in (a, b))
    await until(lambda: loaders[0].tried == 1)
    second.cancel()
    gate.release()
    await first
    await until(lambda: shelf._worker is None)
    assert loaders[1].tried == 0
    assert await use(b) is loaders[1].made[0]


async def test_a_request_cancelled_as_its_model_loads_holds_no_lease() -> None:
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[FakeModel]] = []

    class CancellingModel(FakeModel):
        async def start(self) -> None:
            loop.call_soon(tasks[0].cancel)  # before the waiting request is notified

    slot: ModelSlot[FakeModel] = ModelSlot("hasty", CancellingModel)
    shelf = Shelf([slot])
    tasks.append(asyncio.create_task(use(slot)))
    with pytest.raises(asyncio.CancelledError):
        await tasks[0]
    assert slot.state == "loaded"
    assert slot.n_leases == 0
    await shelf.stop()


@pytest.mark.parametrize("where", ["load", "start"])
async def test_a_failed_load_is_reported_and_retried_after_a_pause(where: str) -> None:
    clock, metrics = Clock(), Metrics()
    (a, b), loaders = slots(2)
    failure = CheckpointError("a/model.safetensors: no such file")
    if where == "load":
        loaders[0].failure = failure
    else:
        loaders[0].start_failure = failure  # such as a golden sentence that differs
    Shelf([a, b], clock=clock, metrics=metrics)
    results = await asyncio.gather(use(a), use(a), return_exceptions=True)
    assert [type(one) for one in results] == [ModelUnavailableError] * 2
    assert results[0] is not results[1]
    assert "no such file" not in str(results[0])  # only for the log
    assert a.state == "failed"
    assert [model.stopped for model in loaders[0].made] == [1] * (where == "start")
    clock.now = FIRST_PAUSE - 1
    with pytest.raises(ModelUnavailableError) as refused:
        await use(a)
    assert (refused.value.retry_after, loaders[0].tried) == (1, 1)
    await use(b)  # others are unaffected
    clock.now = FIRST_PAUSE + 1
    with pytest.raises(ModelUnavailableError):
        await use(a)
    assert loaders[0].tried == 2
    assert a.failure
    assert a.failure.retry_at == clock.now + 2 * FIRST_PAUSE
    clock.now += 2 * FIRST_PAUSE
    loaders[0].failure = loaders[0].start_failure = None
    assert await use(a) is loaders[0].made[-1]
    assert a.model
    text = metrics.exposition()[0].decode()
    assert 'attend_model_loads_total{model="model-0",outcome="failed"} 2.0' in text


async def test_any_exception_of_a_load_is_survived() -> None:
    (a, b), loaders = slots(2)
    loaders[0].failure = ZeroDivisionError("secret")
    Shelf([a, b])
    with pytest.raises(ModelUnavailableError):
        await use(a)
    assert a.failure
    assert a.failure.reason == "ZeroDivisionError, see the log"
    await use(b)


async def test_a_failed_model_is_loaded_again() -> None:
    (a,), [loader] = slots(1)
    Shelf([a])
    model = await use(a)
    model.works = False
    assert await use(a) is loader.made[1]
    assert model.stopped == 1


async def test_a_permanent_model_is_leased_as_it_is() -> None:
    model = FakeModel(works=False)
    slot = ModelSlot("fixed", lambda: model, 10, pinned=True, permanent=True, model=model)
    shelf = Shelf([slot], max_bytes=1)
    await shelf.start()
    assert await use(slot) is model
    assert model.started == 1


async def test_waiting_requests_are_refused_at_the_end() -> None:
    (a,), [loader] = slots(1, gate=threading.Semaphore(0))
    shelf = Shelf([a])
    task = asyncio.create_task(use(a))
    await until(lambda: loader.tried == 1)
    await shelf.stop()
    with pytest.raises(DrainingError):
        await task
    with pytest.raises(DrainingError):
        await use(a)
    assert loader.gate
    loader.gate.release()


async def test_a_loaded_model_moves_to_the_next_shelf_with_its_uses() -> None:
    (a, same), loaders = slots(2)
    old, new = Shelf([a]), Shelf([same])
    async with Lease([a], DEADLINE) as model:
        assert new.adopt(old, a, same)
        assert list(new.slots) == [a]
        await old.stop()
        assert model.stopped == 0
        new.max_bytes = 5
    await until(lambda: model.stopped == 1)  # the new shelf returns and unloads it
    assert loaders[1].tried == 0
    unloaded, twin = slots(2)[0]
    assert not Shelf([twin]).adopt(Shelf([unloaded]), unloaded, twin)


async def test_random_use_never_exceeds_the_limit_and_never_leases_an_unloaded_model() -> None:

    choose = random.Random(1)
    shelved, loaders = slots(12)
    shelf = Shelf(shelved, max_bytes=40)
    most = 0

    async def client() -> None:
        nonlocal most
        for _ in range(30):
            async with Lease([choose.choice(shelved)], DEADLINE) as model:
                most = max(most, shelf.n_bytes)
                assert not model.stopped
                await asyncio.sleep(choose.random() / 1000)
                assert not model.stopped

    await asyncio.gather(*(client() for _ in range(6)))
    assert most <= 40
    assert sum(loader.tried for loader in loaders) > 12
    assert all(slot.n_leases == 0 for slot in shelved)
    await shelf.stop()
    assert all(model.stopped == 1 for loader in loaders for model in loader.made)


async def test_a_load_logs_without_the_context_of_a_request() -> None:
    places_, loaders = slots(1)
    seen: list[dict[str, object]] = []
    load = places_[0].load

    async def start(_: FakeModel) -> None:
        seen.append(structlog.contextvars.get_contextvars())

    def loaded_model() -> FakeModel:
        model = load()
        model.start = start.__get__(model)  # type: ignore[method-assign]
        return model

    places_[0].load = loaded_model
    shelf = Shelf(places_)
    with structlog.contextvars.bound_contextvars(request_id="one"):
        await use(places_[0])
    assert seen == [{}]
    assert loaders[0].tried == 1
    await shelf.stop()


async def test_a_lease_of_several_models_takes_the_first_that_loads() -> None:
    (a, b, c), loaders = slots(3)
    loaders[0].failure = loaders[1].start_failure = CheckpointError("damaged")
    shelf = Shelf([a, b, c])
    for _ in range(2):
        async with Lease([a, b, c], DEADLINE) as model:
            assert model is loaders[2].made[0]
            assert (a.n_leases, b.n_leases, c.n_leases) == (0, 0, 1)
    assert [loader.tried for loader in loaders] == [1, 1, 1]  # not tried again while another works
    loaders[2].failure = CheckpointError("damaged, too")
    await shelf._unload(c)
    c.failure = None
    with pytest.raises(ModelUnavailableError):
        async with Lease([a, b, c], DEADLINE):
            pass
    assert [loader.tried for loader in loaders] == [1, 1, 2]
    await shelf.stop()


async def test_an_unused_model_is_unloaded_after_a_time() -> None:
    (a, b, pinned), loaders = slots(3)
    pinned.pinned = True
    shelf = Shelf([a, b, pinned], max_idle=0.1)
    await shelf.start()
    async with Lease([a], DEADLINE):
        await use(b)
        await until(lambda: loaded(shelf) == ["model-0", "model-2"])
    assert loaders[1].made[0].stopped == 1
    left = asyncio.get_running_loop().time()
    await until(lambda: loaded(shelf) == ["model-2"])
    assert asyncio.get_running_loop().time() - left >= 0.09
    await use(b)  # it is loaded again
    assert loaded(shelf) == ["model-1", "model-2"]
    successor = Shelf([twin := ModelSlot("model-1", loaders[1], expected=10)], max_idle=0.1)
    assert successor.adopt(shelf, b, twin)
    await until(lambda: not loaded(successor))  # also after a reload
    await shelf.stop()
    await successor.stop()


async def test_a_model_in_use_does_not_grow_idle() -> None:
    clock = Clock()
    [a], _ = slots(1)
    shelf = Shelf([a], max_idle=10, clock=clock)
    for _ in range(5):
        await use(a)
        clock.now += 9
        shelf._end_idleness()
        await asyncio.sleep(0.01)
        assert loaded(shelf) == ["model-0"]
    clock.now += 2
    shelf._end_idleness()
    await until(lambda: not loaded(shelf))
    await shelf.stop()
