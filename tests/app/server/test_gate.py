from __future__ import annotations

import asyncio
from functools import partial

from starlette.responses import Response
from starlette.types import Scope

from app.server.gate import AT_A_TIME, Gate
from tests.app.asynchronous import asynchronous

N = 3 * AT_A_TIME + 1
POST, GET = {"method": "POST"}, {"method": "GET"}


@asynchronous
async def test_requests_are_begun_in_order_a_few_a_turn() -> None:
    gate = Gate()
    begun: list[int] = []
    turns: list[int] = []
    for i in range(N):
        assert gate.enter(POST, partial(begun.append, i)) is None
    while len(begun) < N:
        turns.append(len(begun))
        await asyncio.sleep(0)
    assert turns == [AT_A_TIME, 2 * AT_A_TIME, 3 * AT_A_TIME]
    assert begun == list(range(N))


@asynchronous
async def test_what_is_no_post_does_not_wait() -> None:
    gate = Gate()
    begun: list[str] = []
    for _ in range(N):
        gate.enter(POST, partial(begun.append, "POST"))
    gate.enter(GET, partial(begun.append, "GET"))
    assert begun == ["POST"] * AT_A_TIME + ["GET"]


@asynchronous
async def test_newcomers_queue_behind_those_that_wait() -> None:
    gate = Gate()
    begun: list[int] = []
    for i in range(AT_A_TIME + 1):
        gate.enter(POST, partial(begun.append, i))
    await asyncio.sleep(0)  # the last is begun, and there is room in this turn
    for i in range(AT_A_TIME):
        gate.enter(POST, partial(begun.append, 100 + i))
    assert begun == [*range(AT_A_TIME + 1), *range(100, 100 + AT_A_TIME - 1)]
    await asyncio.sleep(0)
    assert begun[-1] == 100 + AT_A_TIME - 1


@asynchronous
async def test_all_that_have_no_place_yet_count_and_no_others() -> None:
    """With places for two turns' worth; who is begun takes a place in the turn after."""
    n_places, taken = 2 * AT_A_TIME, 0

    def refusal(_: Scope, n_coming: int) -> Response | None:
        return Response(status_code=429) if taken + n_coming >= n_places else None

    async def take() -> None:
        nonlocal taken
        taken += 1

    tasks: list[asyncio.Task[None]] = []

    def come(n: int) -> int:
        return sum(
            gate.enter(POST, lambda: tasks.append(asyncio.create_task(take()))) is None
            for _ in range(n)
        )

    gate = Gate(refusal)
    assert come(n_places + 3) == n_places
    while taken < n_places:
        assert come(1) == 0
        await asyncio.sleep(0)
    taken -= 3
    assert come(5) == 3
    await asyncio.sleep(0)
    assert (taken, len(tasks), come(1)) == (n_places, n_places + 3, 0)


@asynchronous
async def test_who_is_refused_is_not_begun_and_takes_no_turn() -> None:
    refusals = iter([Response(b"full", 429)] * N + [None] * AT_A_TIME)
    gate = Gate(lambda *_: next(refusals))
    begun: list[int] = []
    answers = [gate.enter(POST, partial(begun.append, i)) for i in range(N + AT_A_TIME)]
    assert [answer.body for answer in answers if answer] == [b"full"] * N
    assert begun == list(range(N, N + AT_A_TIME))
