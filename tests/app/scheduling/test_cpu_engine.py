"""The scheduler with the CPU engine: failures do not affect other requests."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
import torch

from app.errors import EngineFailedError
from app.scheduling.requests import Completion
from app.scheduling.scheduler import Scheduler
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.cpu import search
from model.engine.cpu.capacity import MAX_SENTENCES
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Weights
from model.engine.protocol import Job
from model.errors import NumericalError
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer
from tests.app.scheduling.harness import translate
from tests.app.waiting import until
from tests.model.engine.cpu.running import pack_model

POISON = 13
OPTIONS = SearchOptions(beam_size=3, n_best=2, max_target_tokens=20)
CONFIG = PRESETS["tiny"].model_copy(update={"share_embeddings": False, "tie_output": False})

Sources = list[list[int]]


@pytest.fixture
def weights(kernels: None) -> Weights:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return pack_model(Transformer(CONFIG), "int8")


@pytest.fixture
def engine(weights: Weights) -> CpuEngine:
    return CpuEngine(CONFIG, weights)


def sources(n_sentences: int, seed: int) -> Sources:
    choose = np.random.default_rng(seed)
    lengths = choose.integers(1, 30, n_sentences)
    return [[*choose.integers(14, 64, length).tolist(), CONFIG.eos_id] for length in lengths]


def answers(engine: CpuEngine, texts: Sources) -> list[list[Hypothesis]]:
    """Return the hypotheses of each sentence alone."""
    found = []
    for index, source in enumerate(texts):
        engine.admit([Job(index, tuple(source), OPTIONS)])
        ((_, outcome),) = engine.step()
        assert isinstance(outcome, list)
        found.append(outcome)
    return found


def hypotheses(completions: Sequence[Completion]) -> list[list[Hypothesis]]:
    return [completion.hypotheses for completion in completions]


@asynccontextmanager
async def running(*engines: CpuEngine) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(engines)
    scheduler.start()
    try:
        yield scheduler
    finally:
        await scheduler.stop()


class Gate:
    """Blocks the kernels' first call until it is opened, and may raise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self._error = error
        self._run: Callable[..., int] = search.run
        monkeypatch.setattr(search, "run", self._first)

    def _first(self, *arguments: Any) -> int:
        if not self.entered.is_set():
            self.entered.set()
            assert self.opened.wait(timeout=60)
            if self._error:
                raise self._error
        return self._run(*arguments)


async def test_answers_under_load_are_the_same_bits_as_alone(weights: Weights) -> None:
    engines = [CpuEngine(CONFIG, weights) for _ in range(2)]
    requests = [sources(1 + seed % 9, seed) for seed in range(40)]
    expected = [answers(engines[0], texts) for texts in requests]
    async with running(*engines) as scheduler:
        found = await asyncio.gather(*(translate(scheduler, texts, OPTIONS) for texts in requests))
    assert [hypotheses(completions) for completions in found] == expected
    assert not any(engine.busy for engine in engines)


async def test_infinite_numbers_fail_one_request(engine: CpuEngine, weights: Weights) -> None:
    requests = [sources(5, seed) for seed in range(10)]
    expected = [answers(engine, texts) for texts in requests]
    requests[4][2][0] = POISON
    weights.source_embedding.values[POISON] = np.nan
    async with running(engine) as scheduler:
        found = await asyncio.gather(
            *(translate(scheduler, texts, OPTIONS) for texts in requests), return_exceptions=True
        )
        failure = found.pop(4)
        assert isinstance(failure, EngineFailedError)
        assert isinstance(failure.__cause__, NumericalError)
        del expected[4]
        for completions, own in zip(found, expected, strict=True):
            assert isinstance(completions, list)
            assert hypotheses(completions) == own
        await until(lambda: scheduler.load.in_flight == 0)


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError()])
async def test_a_failed_step_changes_no_answer(
    engine: CpuEngine, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    texts, others = sources(MAX_SENTENCES, 1), sources(10, 2)
    expected, of_others = answers(engine, texts), answers(engine, others)
    gate = Gate(monkeypatch, error)
    async with running(engine) as scheduler:
        struck = asyncio.create_task(translate(scheduler, texts, OPTIONS))
        await until(gate.entered.is_set)
        waiting = asyncio.create_task(translate(scheduler, others, OPTIONS))
        await until(lambda: scheduler.load.waiting >= len(others))
        gate.opened.set()
        assert hypotheses(await struck) == expected
        assert hypotheses(await waiting) == of_others
        assert hypotheses(await translate(scheduler, texts, OPTIONS)) == expected
    assert not engine.busy


async def test_a_leaving_client(engine: CpuEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sources(10, 3)
    expected = answers(engine, texts)
    gate = Gate(monkeypatch)
    endless = SearchOptions(beam_size=8, n_best=8, max_target_tokens=128)
    async with running(engine) as scheduler:
        leaving = asyncio.create_task(translate(scheduler, sources(20, 4), endless))
        await until(gate.entered.is_set)
        staying = asyncio.create_task(translate(scheduler, texts, OPTIONS))
        await until(lambda: scheduler.load.waiting > 0)
        gate.opened.set()
        leaving.cancel()
        assert hypotheses(await staying) == expected
        await until(lambda: scheduler.load.in_flight == 0)
    assert not engine.busy


async def test_a_poisoned_one_of_64_fails_alone(
    engine: CpuEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = [[text] for text in sources(MAX_SENTENCES, 5)]
    expected = [answers(engine, texts) for texts in requests]
    poisoned = [*requests[40][0][:-1], POISON, requests[40][0][-1]]
    requests[40] = [poisoned]
    run = search.run

    def faulty(*arguments: Any) -> int:
        if any(list(job.source_ids) == poisoned for job in engine._in_slot.values()):
            raise RuntimeError
        return run(*arguments)

    monkeypatch.setattr(search, "run", faulty)
    async with running(engine) as scheduler:
        found = await asyncio.gather(
            *(translate(scheduler, texts, OPTIONS) for texts in requests), return_exceptions=True
        )
    assert isinstance(found.pop(40), EngineFailedError)
    del expected[40]
    assert [hypotheses(one) for one in found if isinstance(one, list)] == expected
