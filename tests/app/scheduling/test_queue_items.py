from __future__ import annotations

import asyncio
from collections.abc import Hashable, Sequence
from typing import Any

from app.scheduling.queue_items import Completion, Explanation, ExplanationQueue
from model.decoding.hypothesis import Hypothesis
from tests.app.asynchronous import asynchronous
from tests.app.scheduling.harness import Source, new_request


@asynchronous
async def test_a_request_is_answered_by_its_last_segment_with_the_longest_times() -> None:
    request = new_request(2)
    request.queued[1].settle(Completion([], 1, 4))
    assert not request.future.done()
    request.queued[0].settle(Completion([], 2, 3))
    spent = request.future.result()
    assert (spent.queued, spent.worked) == (2, 4)


@asynchronous
async def test_a_segment_that_cannot_be_settled_fails_its_request_and_no_other() -> None:
    class Broken(Source):
        def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
            raise ValueError("two")

        def agree(self, ids: Sequence[int]) -> None:
            raise ValueError("one")

    told, settled, other = new_request(1), new_request(1), new_request(1)
    for request in (told, settled):
        request.queued[0].askers = [(request, Broken((1,) * 5))]
    told.queued[0].progress([1])
    told.queued[0].progress([1, 2])
    assert str(told.future.exception()) == "one"
    other.queued[0].join(settled, settled.queued[0].askers[0][1])
    other.queued[0].askers.reverse()  # the one that breaks is told first
    other.queued[0].settle(Completion([], 0, 0))
    assert str(settled.future.exception()) == "two"
    assert other.future.result().queued == 0


@asynchronous
async def test_a_request_that_failed_or_was_given_up_stays_so() -> None:
    failed, given_up = new_request(2), new_request(1)
    failed.queued[0].settle(ValueError("one"))
    failed.queued[1].settle(ValueError("two"))
    assert str(failed.future.exception()) == "one"
    given_up.future.cancel()
    given_up.queued[0].settle(Completion([], 0, 0))
    assert given_up.future.cancelled()


@asynchronous
async def test_a_request_without_a_client_is_its_own() -> None:
    alone, of_one, of_the_same = new_request(1), new_request(1), new_request(1)
    of_one.client = of_the_same.client = "key"
    assert alone.queued[0].client is alone
    assert of_one.queued[0].client == of_the_same.queued[0].client


def look(client: Hashable) -> Explanation[Any]:
    return Explanation(lambda _: None, asyncio.get_running_loop().create_future(), client)


@asynchronous
async def test_clients_take_turns_and_each_keeps_its_order() -> None:
    queue = ExplanationQueue()
    many, few, own = [look("a") for _ in range(4)], [look("b") for _ in range(2)], look(None)
    for one in (*many, *few, own):
        queue.add(one)
    taken = [queue.take() for _ in range(7)]
    assert taken == [many[0], few[0], own, many[1], few[1], many[2], many[3]]
    assert not queue
    assert queue.take() is None


@asynchronous
async def test_what_nobody_waits_for_is_passed_over_and_what_is_left_can_be_had() -> None:
    queue = ExplanationQueue()
    gone, here, last = look("a"), look("a"), look(None)
    for one in (gone, here, last):
        queue.add(one)
    gone.future.cancel()
    assert queue.take() is here
    assert queue.clear() == [last]
    assert not queue
