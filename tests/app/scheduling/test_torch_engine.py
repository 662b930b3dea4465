"""The scheduler with torch engines: devices share a queue; lack of memory fails no request."""

import math
from typing import Any

import pytest
import torch

from app.scheduling.scheduler import Scheduler
from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Finished, Job
from model.engine.torch.batch import Batch
from model.engine.torch.engine import TorchEngine
from model.transformer.config import PRESETS
from model.transformer.transformer import Transformer
from tests.app.scheduling.harness import FakeClock, translate
from tests.app.scheduling.test_cpu_engine import hypotheses, sources
from tests.model.engine.cpu.running import run
from tests.model.engine.torch.running import tokens_of, torch_engine

OPTIONS = SearchOptions(beam_size=3, n_best=2, max_target_tokens=20)


class Counted(TorchEngine):
    """Counts finished sentences."""

    n_finished = 0

    def step(self) -> list[Finished]:
        finished = super().step()
        self.n_finished += len(finished)
        return finished


def engine_on(device: str) -> Counted:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(PRESETS["tiny"]).to(device)
    engine = torch_engine(model)
    engine.__class__ = Counted
    assert isinstance(engine, Counted)
    return engine


def expected(texts: list[list[int]]) -> list[list[tuple[int, ...]]]:
    jobs = [Job(index, tuple(source), OPTIONS) for index, source in enumerate(texts)]
    found = tokens_of(run(engine_on("cpu"), jobs))
    return [found[index] for index in range(len(texts))]


async def answers(scheduler: Scheduler, texts: list[list[int]]) -> list[list[tuple[int, ...]]]:
    found = hypotheses(await translate(scheduler, texts, options=OPTIONS))
    return [[one.ids for one in outcome] for outcome in found]


async def test_two_devices_share_a_queue() -> None:
    texts = sources(24, 1)
    engines = [engine_on("cpu:0"), engine_on("cpu:1")]
    scheduler = Scheduler(engines, clock=FakeClock())
    scheduler.start()
    found = await answers(scheduler, texts)
    assert scheduler.load.engines == 2
    await scheduler.stop()
    assert found == expected(texts)
    assert sum(engine.n_finished for engine in engines) == 24
    assert min(engine.n_finished for engine in engines) > 0


async def test_a_shortage_of_memory_fails_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = sources(12, 2)
    reference = expected(texts)
    decode = Batch._decode_window

    def limited(self: Batch, low: int, high: int, *rest: Any) -> None:
        if high - low > 2:
            raise torch.OutOfMemoryError
        decode(self, low, high, *rest)

    monkeypatch.setattr(Batch, "_decode_window", limited)
    scheduler = Scheduler([engine_on("cpu")], clock=FakeClock())
    scheduler.start()
    assert await answers(scheduler, texts) == reference
    assert scheduler.load.engines == 1
    await scheduler.stop()
    assert math.isfinite(scheduler.n_bytes)
