"""The promises of the protocol that every engine keeps."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Job
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import cpu_engine, run
from tests.model.engine.torch.running import torch_engine

MakeEngine = Callable[[Transformer], Engine]
ENGINES = pytest.mark.parametrize(
    ("make_engine", "in_step", "in_progress"),
    [
        (lambda model: cpu_engine(model, "float32"), "model.engine.cpu.search.run",
         "model.engine.cpu.engine.stable_prefix"),
        (EagerEngine, "model.engine.eager.ReferenceSearches.advance", "model.engine.eager.grown"),
        (torch_engine, "model.engine.torch.batch.advance", "model.engine.torch.engine.grown"),
    ],
    ids=["cpu", "eager", "torch"],
)  # fmt: skip


def jobs(*, stream: bool = False) -> list[Job]:
    options = SearchOptions(2, max_target_tokens=6)
    found = [Job(n, (5, 6 + n, 1), options) for n in range(3)]
    return [replace(job, stream=stream) for job in found]


def fail(*_: object) -> None:
    raise RuntimeError("struck")


@ENGINES
def test_an_idle_engine_steps_to_nothing(
    endless: Transformer, make_engine: MakeEngine, in_step: str, in_progress: str
) -> None:
    engine = make_engine(endless)
    assert not engine.busy
    assert engine.step() == []
    engine.admit([])
    engine.cancel([3])
    assert not engine.busy


@ENGINES
def test_a_step_that_raises_leaves_the_engine_empty_and_usable(
    endless: Transformer, make_engine: MakeEngine, in_step: str, in_progress: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    engine = make_engine(endless)
    engine.admit(jobs())
    with monkeypatch.context() as patch:
        patch.setattr(in_step, fail)
        with pytest.raises(RuntimeError, match="struck"):
            engine.step()
    assert not engine.busy
    assert engine.step() == []
    assert run(engine, jobs()) == run(make_engine(endless), jobs())


@ENGINES
def test_another_method_that_raises_leaves_the_jobs_in_the_engine(
    endless: Transformer, make_engine: MakeEngine, in_step: str, in_progress: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    engine = make_engine(endless)
    engine.admit(jobs(stream=True))
    assert engine.step() == []
    with monkeypatch.context() as patch:
        patch.setattr(in_progress, fail)
        with pytest.raises(RuntimeError, match="struck"):
            engine.progress()
    assert engine.busy
    assert run(engine, []) == run(make_engine(endless), jobs())
