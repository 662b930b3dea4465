import asyncio
from collections.abc import Callable

import pytest

from app.errors import DrainingError, EngineDownError
from app.scheduling.engine_state import InFlight
from app.scheduling.fair_queue import Caller
from app.scheduling.requests import Explanation, Floats, QueuedSegment
from app.scheduling.shared_queue import SharedQueue, Waiting
from model.engine.protocol import Engine
from tests.app.scheduling.harness import new_request


def do_nothing() -> None:
    pass


def accept_all(sentence: Waiting) -> bool:
    return True


def explain(engine: Engine) -> Floats:
    raise AssertionError("no engine is left to run it")


def joined() -> tuple[SharedQueue, InFlight]:
    """Return a queue and the sentences in flight in its only engine."""
    queue = SharedQueue()
    return queue, queue.join(do_nothing)


def take(queue: SharedQueue, mine: InFlight, fits: Callable[[Waiting], bool] = accept_all) -> bool:
    sentence = queue.take(mine, fits, lambda _: False)
    if sentence:
        assert isinstance(sentence, QueuedSegment)
        mine.add(sentence)
    return sentence is not None


async def test_no_engine_takes_more_than_its_share_of_what_there_is() -> None:
    queue = SharedQueue()
    one, other = queue.join(do_nothing), queue.join(do_nothing)
    queue.submit(new_request(5).queued)
    while take(queue, one):
        pass
    assert (len(one), len(queue.waiting)) == (3, 2)
    while take(queue, other):
        pass
    assert (len(other), len(queue.waiting)) == (2, 0)
    queue.submit(new_request(1).queued)
    assert not take(queue, one)  # left to the engine with less work
    assert take(queue, other)


async def test_once_an_engine_has_left_the_other_takes_all() -> None:
    queue = SharedQueue()
    one, other = queue.join(do_nothing), queue.join(do_nothing)
    queue.submit(new_request(5).queued)
    assert queue.leave(other) == []
    while take(queue, one):
        pass
    assert len(one) == 5


async def test_the_last_engine_to_leave_gets_all_unfinished_work() -> None:
    queue, mine = joined()
    sentences = new_request(2).queued
    explanation = Explanation(explain, asyncio.get_running_loop().create_future(), 9, Caller())
    queue.submit(sentences)
    queue.submit([explanation])
    assert queue.leave(mine) == [*sentences, explanation]
    with pytest.raises(EngineDownError):
        queue.submit(sentences)
    with pytest.raises(EngineDownError):
        queue.submit([explanation])


async def test_a_sentence_that_does_not_fit_stays_first() -> None:
    queue, mine = joined()
    first, second = new_request(2).queued
    queue.submit([first, second])
    assert not take(queue, mine, lambda sentence: sentence is second)
    assert take(queue, mine)
    assert list(mine.segments) == [first.job.id]


async def test_dropped_sentences_leave_the_queue_and_are_cancelled_in_engines() -> None:
    queue, mine = joined()
    in_flight, waiting = new_request(2).queued
    queue.submit([in_flight, waiting])
    take(queue, mine)
    queue.drop([in_flight, waiting])
    assert (len(queue.waiting), queue.waiting.n_tokens) == (0, 0)
    assert list(mine.cancelled) == [in_flight.job.id]


async def test_an_engine_that_is_closed_finishes_what_waits() -> None:
    queue, mine = joined()
    queue.submit(new_request(1).queued)
    queue.close()
    with pytest.raises(DrainingError):
        queue.submit(new_request(1).queued)
    assert queue.wait_for_work(mine)
    take(queue, mine)
    assert queue.wait_for_work(mine)
    mine.remove(next(iter(mine.segments)))
    assert not queue.wait_for_work(mine)


async def test_in_flight_counts_tokens_and_ignores_unknown_ids() -> None:
    in_flight = InFlight()
    [sentence] = new_request(1).queued
    in_flight.add(sentence)
    assert (len(in_flight), in_flight.n_tokens) == (1, 5)
    assert in_flight.remove(-1) is None
    assert in_flight.remove(sentence.job.id) is sentence
    assert (len(in_flight), in_flight.n_tokens) == (0, 0)


async def test_new_and_dropped_sentences_interrupt_working_engines() -> None:
    queue = SharedQueue()
    interrupted: list[int] = []
    mine = queue.join(lambda: interrupted.append(1))
    queue.join(lambda: interrupted.append(2))
    request = new_request(3)
    queue.submit(request.queued)
    assert interrupted == [1, 2]
    queue.drop(request.queued)
    assert interrupted == [1, 2] * 2
    queue.leave(mine)
    queue.submit([Explanation(explain, asyncio.get_running_loop().create_future(), 9, Caller())])
    assert interrupted == [1, 2] * 2 + [2]
