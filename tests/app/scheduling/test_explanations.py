import asyncio
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.scheduling.explanations import TURN_TOKENS
from model.engine.explanations import IdPair
from tests.app.fake_engine import FakeEngine
from tests.app.scheduling.harness import OPTIONS, running

LENGTHS = st.integers(1, TURN_TOKENS)


class Scoring(FakeEngine):
    """Returns each target's length instead of a log-probability, and records its arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[list[IdPair]] = []

    def score(self, pairs: object, options: object) -> list[np.typing.NDArray[np.float32]]:
        assert isinstance(pairs, list)
        self.turns.append(pairs)
        return [np.full(len(target), len(target), np.float32) for _, target in pairs]


@settings(max_examples=30)
@given(st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=20))
def test_pairs_are_scored_in_order_and_in_full_turns(lengths: list[tuple[int, int]]) -> None:
    engine = Scoring()
    pairs = [([3] * source, [4] * target) for source, target in lengths]

    async def score() -> list[np.typing.NDArray[np.float32]]:
        async with running(engine) as scheduler:
            return await scheduler.explanations.score(pairs, OPTIONS)

    scores = asyncio.run(score())
    assert [score.tolist() for score in scores] == [[n] * n for _, n in lengths]
    sizes = [[len(source) + len(target) for source, target in turn] for turn in engine.turns]
    for turn, following in pairwise(sizes):
        assert sum(turn) <= TURN_TOKENS or len(turn) == 1
        assert sum(turn) + following[0] > TURN_TOKENS


async def test_an_empty_list_takes_no_turn() -> None:
    engine = Scoring()
    async with running(engine) as scheduler:
        assert await scheduler.explanations.score([], OPTIONS) == []
    assert engine.turns == []
