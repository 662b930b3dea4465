"""The contract of the engine protocol, for every engine."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.engine.eager import EagerEngine
from model.engine.explanations import AttentionRow, LayerRow
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


def term(*ids: int) -> Constraint:
    return Constraint((Wording(ids),))


@ENGINES
@pytest.mark.parametrize("ids", [(12,), (5, -1), (5, 1), (0,)])
def test_a_term_of_tokens_that_no_translation_has_is_refused(
    endless: Transformer, make_engine: MakeEngine, in_step: str, in_progress: str,
    ids: Sequence[int],
) -> None:  # fmt: skip
    engine = make_engine(endless)
    options = SearchOptions(constraints=(term(*ids),))
    with pytest.raises(ValueError, match=r"a target id outside|a term with <pad>"):
        engine.admit([Job(0, (5, 1), options)])
    with pytest.raises(ValueError, match=r"a target id outside|a term with <pad>"):
        engine.trace((5, 1), options)
    assert not engine.busy


@ENGINES
@pytest.mark.parametrize("pair", [((12, 1), (5, 1)), ((5, 1), (12,)), ((5, 1), (-1,)), ((), (5,))])
def test_pairs_of_other_tokens_are_not_explained(
    endless: Transformer, make_engine: MakeEngine, in_step: str, in_progress: str,
    pair: tuple[Sequence[int], Sequence[int]],
) -> None:  # fmt: skip
    engine = make_engine(endless)
    explanations = (
        lambda: engine.score([pair], SearchOptions()),
        lambda: engine.explain(*pair, "cross"),
        lambda: engine.project(*pair, AttentionRow("cross", 0, 0)),
        lambda: engine.activations(*pair, LayerRow("encoder", 0, 0)),
    )
    for explanation in explanations:
        with pytest.raises(ValueError, match=r"id outside the vocabulary|0 source tokens"):
            explanation()


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
