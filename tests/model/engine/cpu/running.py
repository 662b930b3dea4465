"""Builds, runs and checks CPU engines."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from model.decoding.hypothesis import Outcome
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import Precision, Weights, pack
from model.engine.protocol import Engine, Finished, Job
from model.transformer.transformer import Transformer


def pack_model(model: Transformer, precision: Precision) -> Weights:
    parameters = {name: tensor.detach().numpy() for name, tensor in model.named_parameters()}
    return pack(model.config, parameters, precision)


def cpu_engine(model: Transformer, precision: Precision) -> CpuEngine:
    return CpuEngine(model.config, pack_model(model, precision))


def run(engine: Engine, jobs: Iterable[Job]) -> dict[int, Outcome]:
    """Return the outcomes of jobs that join as soon as they fit."""
    waiting = deque(jobs)
    outcomes: dict[int, Outcome] = {}
    while waiting or engine.busy:
        while waiting and engine.can_admit(waiting[0]):
            engine.admit([waiting.popleft()])
        outcomes |= dict(engine.step())
    return outcomes


class ConcurrentRun(NamedTuple):
    """The outcomes of jobs that joined, were interrupted and were cancelled at random."""

    outcomes: dict[int, Outcome]
    cancelled: set[int]
    max_in_flight: int  # jobs in flight at once


def run_concurrently(
    engine: Engine,
    jobs: Sequence[Job],
    choose: np.random.Generator,
    *,
    leaving: float,
    after_step: Callable[[], None] = lambda: None,
) -> ConcurrentRun:
    """Run jobs in random order; before each step, some join and one may be cancelled."""
    waiting = [jobs[index] for index in choose.permutation(len(jobs))]
    in_flight: set[int] = set()
    result = ConcurrentRun({}, set(), 0)
    while waiting or engine.busy:
        for _ in range(choose.integers(0, 12)):
            if waiting and engine.can_admit(waiting[0]):
                in_flight.add(waiting[0].id)
                engine.admit([waiting.pop(0)])
        if in_flight and choose.random() < leaving:
            dropped = int(choose.choice(sorted(in_flight)))
            engine.cancel([dropped])
            in_flight.remove(dropped)
            result.cancelled.add(dropped)
        if choose.random() < 0.7:
            engine.interrupt()
        result = result._replace(max_in_flight=max(result.max_in_flight, len(in_flight)))
        done = dict(engine.step())
        result.outcomes.update(done)
        in_flight -= done.keys()
        after_step()
    return result


def alone(engine: Engine, jobs: Sequence[Job]) -> dict[int, Outcome]:
    """Return the outcomes of jobs, run one after the other."""
    return {job.id: run(engine, [job])[job.id] for job in jobs}


def check_empty(engine: CpuEngine) -> None:
    """Check that all pages, rows and slots are free, and each page once."""
    pages, slots, capacity = engine._pages, engine._slots, engine._capacity
    assert not engine.busy
    assert not slots.active.any()
    assert capacity._used.tolist() == [0, 0, 0]
    assert sorted(engine._free_slots) == list(range(len(slots.active)))
    assert pages.n_free[0] == len(pages.free)
    assert sorted(pages.free.tolist()) == list(range(len(pages.free)))


def check_pages(engine: CpuEngine) -> None:
    """Check that every page is either free or of one sentence."""
    pages, slots = engine._pages, engine._slots
    owned = [
        page
        for slot in np.flatnonzero(slots.active)
        for page in slots.owned[slot, : slots.n_owned[slot]].tolist()
    ]
    free = pages.free[: pages.n_free[0]].tolist()
    assert sorted([*owned, *free]) == list(range(len(pages.free)))


def advance(engine: CpuEngine) -> list[Finished]:
    """Advance by one token."""
    engine.interrupt()
    return engine.step()
