from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from app.errors import DrainingError, EngineDownError
from app.scheduling.queue_items import Explanation, Floats, Sentence
from app.scheduling.shared_queue import Exchange, InFlight
from model.engine.protocol import Engine
from tests.app.asynchronous import asynchronous
from tests.app.scheduling.harness import new_request


def nothing() -> None:
    pass


def anything(sentence: Sentence) -> bool:
    return True


def explain(engine: Engine) -> Floats:
    raise AssertionError("nobody is left to run it")


def take(exchange: Exchange, mine: InFlight, fits: Callable[[Sentence], bool] = anything) -> bool:
    sentence = exchange.take(mine, fits)
    if sentence:
        mine.add(sentence)
    return sentence is not None


@asynchronous
async def test_no_engine_takes_more_than_its_share_of_what_there_is() -> None:
    exchange = Exchange()
    one, other = exchange.join(nothing), exchange.join(nothing)
    exchange.submit(new_request(5).sentences)
    while take(exchange, one):
        pass
    assert (len(one), exchange.n_waiting) == (3, 2)
    while take(exchange, other):
        pass
    assert (len(other), exchange.n_waiting) == (2, 0)
    exchange.submit(new_request(1).sentences)
    assert not take(exchange, one)  # it is for the one that has less
    assert take(exchange, other)


@asynchronous
async def test_once_an_engine_has_left_the_other_takes_all() -> None:
    exchange = Exchange()
    one, other = exchange.join(nothing), exchange.join(nothing)
    exchange.submit(new_request(5).sentences)
    assert exchange.leave(other) == []
    while take(exchange, one):
        pass
    assert len(one) == 5


@asynchronous
async def test_the_last_engine_to_leave_is_given_what_nobody_is_left_to_do() -> None:
    exchange = Exchange()
    mine = exchange.join(nothing)
    sentences = new_request(2).sentences
    explanation = Explanation(explain, asyncio.get_running_loop().create_future())
    exchange.submit(sentences)
    exchange.ask(explanation)
    assert exchange.leave(mine) == [*sentences, explanation]
    with pytest.raises(EngineDownError):
        exchange.submit(sentences)
    with pytest.raises(EngineDownError):
        exchange.ask(explanation)


@asynchronous
async def test_what_does_not_fit_stays_the_next() -> None:
    exchange = Exchange()
    mine = exchange.join(nothing)
    first, second = new_request(2).sentences
    exchange.submit([first, second])
    assert not take(exchange, mine, lambda sentence: sentence is second)
    assert take(exchange, mine)
    assert mine.ids() == [first.job.id]


@asynchronous
async def test_dropped_sentences_wait_no_longer_and_engines_are_told() -> None:
    exchange = Exchange()
    mine = exchange.join(nothing)
    in_flight, waiting = new_request(2).sentences
    exchange.submit([in_flight, waiting])
    take(exchange, mine)
    exchange.drop([in_flight, waiting])
    assert (exchange.n_waiting, exchange.n_waiting_tokens) == (0, 0)
    assert list(mine.cancelled) == [in_flight.job.id]


@asynchronous
async def test_an_engine_that_is_closed_finishes_what_waits() -> None:
    exchange = Exchange()
    mine = exchange.join(nothing)
    exchange.submit(new_request(1).sentences)
    exchange.close()
    with pytest.raises(DrainingError):
        exchange.submit(new_request(1).sentences)
    assert exchange.wait_for_work(mine)
    take(exchange, mine)
    assert exchange.wait_for_work(mine)
    mine.remove(mine.ids()[0])
    assert not exchange.wait_for_work(mine)


@asynchronous
async def test_in_flight_counts_tokens_and_forgives_ids_it_does_not_know() -> None:
    in_flight = InFlight()
    [sentence] = new_request(1).sentences
    in_flight.add(sentence)
    assert (len(in_flight), in_flight.n_tokens) == (1, 5)
    assert in_flight.remove(-1) is None
    assert in_flight.remove(sentence.job.id) is sentence
    assert (len(in_flight), in_flight.n_tokens) == (0, 0)


@asynchronous
async def test_whatever_is_left_or_dropped_interrupts_the_engines_at_work() -> None:
    exchange = Exchange()
    interrupted: list[int] = []
    mine = exchange.join(lambda: interrupted.append(1))
    exchange.join(lambda: interrupted.append(2))
    request = new_request(3)
    exchange.submit(request.sentences)
    assert interrupted == [1, 2]
    exchange.drop(request.sentences)
    assert interrupted == [1, 2] * 2
    exchange.leave(mine)
    exchange.ask(Explanation(explain, asyncio.get_running_loop().create_future()))
    assert interrupted == [1, 2] * 2 + [2]
