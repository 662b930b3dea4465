"""Explanations by queued calls of an engine, which take turns with segments, between two steps."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from app.concurrency.coroutines import side_by_side
from app.scheduling.fair_queue import Caller
from app.scheduling.requests import Explanation, Floats
from app.scheduling.shared_queue import SharedQueue
from model.decoding.hypothesis import SearchOptions
from model.decoding.trace import SearchTrace
from model.engine.explanations import (
    Activation,
    AttentionKind,
    AttentionRow,
    IdPair,
    LayerRow,
    Projections,
)
from model.engine.protocol import Engine

TURN_TOKENS = 512
"""Maximum tokens of pairs that are scored together: 10 ms of the shipped model's engine."""

T = TypeVar("T")


class QueuedExplanations:
    """`model.engine.explanations.Explanations`, by the engines that share a queue."""

    def __init__(self, queue: SharedQueue) -> None:
        self._queue = queue

    async def explain(
        self,
        source_ids: Sequence[int],
        target_ids: Sequence[int],
        kind: AttentionKind,
        caller: Caller | None = None,
    ) -> Floats:
        """Run `Explanations.explain`. Raises as `Scheduler.search`.

        `caller` is the request, if it makes several calls.
        """
        pair = source_ids, target_ids
        return await self._call(lambda engine: engine.explain(*pair, kind), _n_tokens(pair), caller)

    async def score(
        self, pairs: Sequence[IdPair], options: SearchOptions, caller: Caller | None = None
    ) -> list[Floats]:
        """Run `Explanations.score` on all engines; several short pairs are one turn."""
        caller = caller or Caller()
        scored = await side_by_side(
            self._call(partial(_score, turn, options), n_tokens, caller)
            for turn, n_tokens in _turns(pairs)
        )
        return [log_probs for turn in scored for log_probs in turn]

    async def project(self, pair: IdPair, at: AttentionRow, caller: Caller) -> Projections:
        return await self._call(lambda engine: engine.project(*pair, at), _n_tokens(pair), caller)

    async def activations(self, pair: IdPair, at: LayerRow, caller: Caller) -> list[Activation]:
        return await self._call(
            lambda engine: engine.activations(*pair, at), _n_tokens(pair), caller
        )

    async def trace(
        self, source_ids: Sequence[int], options: SearchOptions, caller: Caller | None = None
    ) -> SearchTrace:
        """Run `Explanations.trace`, at the cost of all its hypotheses."""
        n_tokens = len(source_ids) * (1 + options.beam_size)
        return await self._call(lambda engine: engine.trace(source_ids, options), n_tokens, caller)

    async def _call(self, run: Callable[[Engine], T], n_tokens: int, caller: Caller | None) -> T:
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        explanation = Explanation(run, future, n_tokens, caller or Caller())
        self._queue.submit([explanation])
        try:
            return await future
        finally:
            if future.cancelled():
                self._queue.withdraw(explanation)


def _turns(pairs: Sequence[IdPair]) -> Iterator[tuple[list[IdPair], int]]:
    """Yield pairs that an engine scores together, with their tokens; a long pair alone."""
    turn: list[IdPair] = []
    n_tokens = 0
    for pair in pairs:
        n_more = _n_tokens(pair)
        if turn and n_tokens + n_more > TURN_TOKENS:
            yield turn, n_tokens
            turn, n_tokens = [], 0
        turn.append(pair)
        n_tokens += n_more
    if turn:
        yield turn, n_tokens


def _n_tokens(pair: IdPair) -> int:
    return sum(map(len, pair))


def _score(turn: Sequence[IdPair], options: SearchOptions, engine: Engine) -> list[Floats]:
    return engine.score(turn, options)
