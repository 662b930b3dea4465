import asyncio
import threading
from functools import partial

import pytest

from app.concurrency.coroutines import AT_A_TIME, Callbacks

N = 3 * AT_A_TIME + 1


async def test_calls_are_made_in_order_whoever_puts_them() -> None:
    callbacks = Callbacks(asyncio.get_running_loop())
    made: list[int] = []
    done = asyncio.Event()
    put = [[partial(made.append, i)] for i in range(N)]

    def engine() -> None:
        for calls in put:
            callbacks.put(calls)
        callbacks.put([])
        callbacks.put([done.set])

    thread = threading.Thread(target=engine)
    thread.start()
    await done.wait()
    thread.join()
    assert made == list(range(N))


@pytest.mark.parametrize("n_puts", [1, 5])
async def test_the_loop_has_its_turn_between_a_few_of_them(n_puts: int) -> None:
    loop = asyncio.get_running_loop()
    callbacks = Callbacks(loop)
    made: list[int] = []
    turns: list[int] = []

    def turn() -> None:
        turns.append(len(made))
        if len(made) < N:
            loop.call_soon(turn)

    calls = [partial(made.append, i) for i in range(N)]
    for first in range(n_puts):
        callbacks.put(calls[first::n_puts])
    loop.call_soon(turn)
    while len(made) < N:
        await asyncio.sleep(0)
    assert turns[:3] == [AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME]


async def test_one_that_raises_does_not_keep_the_others_from_being_made() -> None:
    loop = asyncio.get_running_loop()
    raised: list[object] = []
    loop.set_exception_handler(lambda _, context: raised.append(context["exception"]))
    callbacks = Callbacks(loop)
    done = asyncio.Event()
    error = ValueError("no")

    def fail() -> None:
        raise error

    callbacks.put([fail, done.set])
    await done.wait()
    assert raised == [error]


def test_what_comes_after_the_end_is_dropped(recwarn: pytest.WarningsRecorder) -> None:
    loop = asyncio.new_event_loop()
    callbacks = Callbacks(loop)
    loop.close()
    callbacks.put([lambda: pytest.fail("was made")])
    assert not recwarn
