from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.scheduling.fair_queue import BULK_SHARE, QUANTUM, Caller, FairQueue, Lane, Waiter

LONGEST = 3 * QUANTUM


@cache
def caller(client: str, request: str, lane: Lane) -> Caller:
    return Caller(client, lane)


class Item(Waiter):
    def __init__(
        self, client: str, request: str = "r", n_tokens: int = 10, lane: Lane = "interactive"
    ) -> None:
        self.request = caller(client, request, lane)
        self.n_tokens = n_tokens


def names(waiting: FairQueue[Item]) -> str:
    """Return the clients in the order in which they are served."""
    return "".join(str(served.client) for served in drain(waiting))


def drain(waiting: FairQueue[Item]) -> Iterator[Item]:
    while waiting:
        yield waiting.take()


def queue(*waiters: Item) -> FairQueue[Item]:
    waiting = FairQueue[Item]()
    for waiter in waiters:
        waiting.add(waiter)
    return waiting


def many(n: int, client: str, **fields: object) -> list[Item]:
    return [Item(client, **fields) for _ in range(n)]  # type: ignore[arg-type]


def test_turns_are_worth_a_quantum_of_tokens() -> None:
    half = QUANTUM // 2
    waiting = queue(*many(6, "a", n_tokens=half), *many(3, "b", n_tokens=QUANTUM))
    assert names(waiting) == "aabaabaab"


def test_the_rest_of_a_turn_counts_at_the_next() -> None:
    two_thirds = QUANTUM * 2 // 3  # so turns alternate between one and two sentences
    waiting = queue(*many(6, "a", n_tokens=two_thirds), *many(4, "b", n_tokens=QUANTUM))
    assert names(waiting) == "abaababaab"


def test_requests_of_a_client_take_turns_too_at_no_cost_to_other_clients() -> None:
    waiting = queue(
        *many(3, "a", request="1", n_tokens=QUANTUM),
        *many(3, "a", request="2", n_tokens=QUANTUM),
        *many(3, "b", n_tokens=QUANTUM),
    )
    served = list(drain(waiting))
    assert "".join(str(one.client) for one in served) == "abababaaa"
    first, second = (caller("a", request, "interactive") for request in "12")
    assert [one.request for one in served if one.client == "a"] == [first, second] * 3


def test_while_both_lanes_wait_one_in_so_many_is_bulk() -> None:
    waiting = queue(*many(4, "b", lane="bulk"), *many(20, "i"))
    round_ = "i" * (BULK_SHARE - 1) + "b"
    assert names(waiting) == round_ + round_ + "i" * (20 - 2 * (BULK_SHARE - 1)) + "bb"


def test_an_interactive_sentence_may_pass_the_bulk_lane_whose_turn_stays() -> None:
    waiting = queue(*many(2, "b", lane="bulk"), *many(2 * BULK_SHARE, "i"))
    for _ in range(BULK_SHARE - 1):
        waiting.take()
    for _ in range(3):
        bulk, single = waiting.heads()
        assert (bulk.lane, single.lane) == ("bulk", "interactive")
        assert waiting.take(single) is single
    assert waiting.take() is bulk
    assert [one.lane for one in waiting.heads()] == ["interactive"]


def test_interactive_sentences_served_while_no_bulk_waits_do_not_count() -> None:
    waiting = queue(*many(20, "i"))
    for _ in range(10):
        waiting.take()
    waiting.add(Item("b", lane="bulk"))
    assert names(waiting).index("b") == BULK_SHARE - 1


def test_discarded_requests_are_neither_charged_nor_served() -> None:
    gone, *others = many(3, "a", n_tokens=QUANTUM)
    waiting = queue(gone, *others, Item("b"))
    assert waiting.discard(gone)
    assert not waiting.discard(gone)
    assert names(waiting) == "aba"
    assert not waiting.discard(others[0])


def test_clearing_returns_all_requests_in_order_of_arrival() -> None:
    waiters = [Item("a"), Item("b", lane="bulk"), Item("a", "s"), Item("c")]
    waiting = queue(*waiters)
    assert waiting.clear() == waiters
    assert (len(waiting), waiting.n_tokens) == (0, 0)
    waiting.add(waiters[0])
    assert waiting.take() is waiters[0]


def items(*lanes: Lane) -> st.SearchStrategy[Item]:
    return st.builds(
        Item,
        client=st.sampled_from("abcd"),
        request=st.sampled_from("rs"),
        n_tokens=st.integers(1, LONGEST),
        lane=st.sampled_from(lanes),
    )


waiters, interactive = items("interactive", "bulk"), items("interactive")
steps = st.lists(st.one_of(waiters, st.just("take"), st.integers(0, 30)), max_size=60)


@given(steps)
def test_no_segment_is_lost_and_requests_keep_their_order(steps: list[Item | str | int]) -> None:
    waiting = FairQueue[Item]()
    model: list[Item] = []  # waiting requests in order of arrival
    for step in [*steps, *["take"] * len(steps)]:
        if isinstance(step, Item):
            waiting.add(step)
            model.append(step)
        elif isinstance(step, int):
            if step < len(model):
                assert waiting.discard(model.pop(step))
        elif model:
            head = next(waiting.heads())
            served = waiting.take()
            assert served is head
            same = [(one.lane, one.client, one.request) for one in model]
            assert model.index(served) == same.index((served.lane, served.client, served.request))
            model.remove(served)
        assert len(waiting) == len(model)
        assert waiting.n_tokens == sum(one.n_tokens for one in model)
    assert not model


@given(st.lists(waiters, min_size=1), st.lists(waiters))
def test_new_requests_do_not_change_the_head_of_a_lane(
    before: list[Item], after: list[Item]
) -> None:
    waiting = queue(*before)
    head = next(waiting.heads())
    for waiter in after:
        if waiter.lane == head.lane:
            waiting.add(waiter)
    assert next(waiting.heads()) is head


@given(
    st.lists(interactive),
    st.integers(1, QUANTUM),
    st.lists(st.lists(interactive, max_size=3), max_size=100),
)
def test_new_requests_wait_once(
    before: list[Item], n_tokens: int, arrivals: list[list[Item]]
) -> None:
    waiting = queue(*before)
    newcomer = Item("new", n_tokens=n_tokens)
    waiting.add(newcomer)
    in_front = 0
    for some in [*arrivals, *[[]] * (len(before) + 300)]:
        served = waiting.take()
        if served is newcomer:
            break
        in_front += served.n_tokens
        for waiter in some:
            waiting.add(waiter)
    else:
        pytest.fail("never served")
    clients = {waiter.client for waiter in before}
    assert in_front <= len(clients) * (QUANTUM + LONGEST)


@given(st.lists(st.sampled_from(["interactive", "bulk"]), min_size=20, max_size=200))
def test_no_lane_starves(lanes: list[Lane]) -> None:
    waiting = queue(*(Item("a", lane=lane) for lane in lanes))
    served = [one.lane for one in drain(waiting)]
    both = min(_last(served, "bulk"), _last(served, "interactive"))
    for start in range(max(0, both - BULK_SHARE + 1)):
        assert served[start : start + BULK_SHARE].count("bulk") == 1


def _last(served: list[Lane], lane: Lane) -> int:
    return max((index for index, one in enumerate(served) if one == lane), default=-1)
