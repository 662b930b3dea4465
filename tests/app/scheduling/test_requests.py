import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from app.scheduling.fair_queue import QUANTUM, Caller, FairQueue
from app.scheduling.requests import SETTLED_AT_A_TIME, Completion, Explanation, QueuedSegment
from model.decoding.hypothesis import Hypothesis
from tests.app.scheduling.harness import Source, new_request


async def test_a_request_is_answered_by_its_last_segment_with_the_longest_times() -> None:
    request = new_request(2)
    request.queued[1].settle(Completion([], 1, 4))
    assert not request.future.done()
    request.queued[0].settle(Completion([], 2, 3))
    spent = request.future.result()
    assert (spent.queued, spent.worked) == (2, 4)


async def test_a_segment_that_cannot_be_settled_fails_its_request_and_no_other() -> None:
    class Broken(Source):
        def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
            raise ValueError("two")

        def agree(self, ids: Sequence[int]) -> None:
            raise ValueError("one")

    streamed, settled, other = new_request(1), new_request(1), new_request(1)
    for request in (streamed, settled):
        broken = Broken((1,) * 5)
        request.queued[0].waiters = [(request, broken)]
        request.queued[0].watchers = {request: broken}
    streamed.queued[0].progress([1])
    streamed.queued[0].progress([1, 2])
    assert str(streamed.future.exception()) == "one"
    other.queued[0].join(settled, settled.queued[0].waiters[0][1])
    other.queued[0].waiters.reverse()  # the broken one is settled first
    other.queued[0].settle(Completion([], 0, 0))
    assert str(settled.future.exception()) == "two"
    assert other.future.result().queued == 0


async def test_a_failed_or_cancelled_request_stays_so() -> None:
    failed, given_up = new_request(2), new_request(1)
    failed.queued[0].settle(ValueError("one"))
    failed.queued[1].settle(ValueError("two"))
    assert str(failed.future.exception()) == "one"
    given_up.future.cancel()
    given_up.queued[0].settle(Completion([], 0, 0))
    assert given_up.future.cancelled()


async def test_a_segment_requested_many_times_is_settled_in_portions() -> None:
    """A repeated sentence is settled in portions, between which the loop serves others."""
    n_waiters = 5 * SETTLED_AT_A_TIME
    request = new_request(n_waiters)
    queued, *_ = request.queued
    queued.waiters.clear()
    sources = [Source((1,) * 5) for _ in range(n_waiters)]
    for source in sources:
        queued.join(request, source)
    queued.settle(Completion([], 0, 0))
    n_settled = [0]
    while not request.future.done():
        n_settled.append(sum(source.hypotheses is not None for source in sources))
        await asyncio.sleep(0)
    assert len(n_settled) > 4
    assert max(after - before for before, after in pairwise(n_settled)) == SETTLED_AT_A_TIME


async def test_a_request_that_repeats_a_sentence_gets_its_progress_once() -> None:
    indices: list[int] = []

    class Listening(Source):
        def agree(self, ids: Sequence[int]) -> None:
            indices.append(self.index)

    requests = [new_request(1), new_request(1)]
    queued = requests[0].queued[0]
    queued.leave(requests[0])
    for index in range(6):
        queued.join(requests[index % 2], Listening((1,) * 5, index=index))
    queued.progress([1])
    queued.leave(requests[0])
    queued.progress([1, 2])
    assert indices == [0, 1, 1]


async def test_a_request_without_a_client_is_its_own() -> None:
    alone, of_one, of_the_same = new_request(1), new_request(1), new_request(1)
    of_one.client = of_the_same.client = "key"
    assert alone.queued[0].client is alone
    assert of_one.queued[0].client == of_the_same.queued[0].client


def new_explanation(caller: Caller, n_tokens: int = QUANTUM) -> Explanation[Any]:
    return Explanation(lambda _: None, asyncio.get_running_loop().create_future(), n_tokens, caller)


async def test_explanations_take_turns_with_the_sentences_of_other_clients() -> None:
    """Splitting them into requests gives a client no advantage."""
    queue = FairQueue[QueuedSegment | Explanation[Any]]()
    many = [new_explanation(Caller("a")) for _ in range(3)]
    sentences = new_request(2)
    sentences.client = "b"
    for segment in sentences.queued:
        segment.n_tokens = QUANTUM
    own = new_explanation(Caller())
    waiting: list[QueuedSegment | Explanation[Any]] = [*many, *sentences.queued, own]
    for one in waiting:
        queue.add(one)
    assert queue.n_tokens == 6 * QUANTUM
    first, second = sentences.queued
    taken = [queue.take() for _ in range(6)]
    assert taken == [many[0], first, own, many[1], second, many[2]]


async def test_a_request_with_many_explanations_waits_in_the_bulk_lane() -> None:
    queue = FairQueue[QueuedSegment | Explanation[Any]]()
    many, single = new_explanation(Caller("a", "bulk")), new_explanation(Caller("a"))
    for one in (many, single):
        queue.add(one)
    assert [queue.take(), queue.take()] == [single, many]
