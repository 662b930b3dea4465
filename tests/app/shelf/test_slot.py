from typing import Any

import pytest

from app.shelf.slot import LoadQueue, ModelSlot


def slots(n: int) -> list[ModelSlot[Any]]:
    return [ModelSlot(f"model {index}", lambda: None) for index in range(n)]


def test_models_load_in_the_order_of_their_first_requests() -> None:
    queue: LoadQueue[Any] = LoadQueue()
    first, second = slots(2)
    assert queue.first is None
    for slot in (first, second, first):
        queue.add(slot)
    assert queue.first is first
    queue.remove(first)
    assert queue.first is second
    queue.remove(first)
    queue.remove(second)
    assert queue.first is None


def test_a_queued_model_waits_for_all_before_it_and_a_new_one_for_one_load() -> None:
    queue: LoadQueue[Any] = LoadQueue()
    first, second, other = slots(3)
    queue.add(first)
    queue.add(second)
    assert queue.seconds_until(second) == 0  # unknown before the first load
    queue.loaded_in(4.0)
    assert [queue.seconds_until(one) for one in (first, second, other)] == [4, 8, 4]
    queue.loaded_in(8.0)
    assert queue.seconds_until(first) == pytest.approx(5)  # three quarters old, one new
