"""Steps of common sizes are recorded before the first job if the device has graphs."""

import pytest
import torch

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import Rule
from model.engine.torch import slots as slots_module
from model.engine.torch.engine import TorchEngine
from model.engine.torch.graphs import Step
from model.engine.torch.slots import MAX_ROWS
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import run
from tests.model.engine.jobs import FAMILY, RULES, check_same, every_option, limited
from tests.model.engine.torch.running import expected_hypotheses, torch_engine
from tests.model.make_model import MakeModel


class FakeGraphs:
    """A fake recorder. As with graphs, a replay uses the recorded arguments."""

    def __init__(self, error: Exception | None = None, after: int = 0) -> None:
        self.n_recorded = 0
        self.n_replayed = 0
        self._error = error
        self._after = after

    def __call__(self, work: Step) -> Step:
        if self._error and self.n_recorded >= self._after:
            raise self._error
        self.n_recorded += 1

        def replay() -> None:
            self.n_replayed += 1
            work()

        return replay


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slots_module, "PREPARED_POSITIONS", 32)
    monkeypatch.setitem(MAX_ROWS, "cpu", 8)


def prepared(
    model: Transformer, graphs: FakeGraphs, beam: int = 2, rule: Rule | None = None
) -> TorchEngine:
    """An engine with eight rows, so that a search with two beams has four slots."""
    engine = torch_engine(model, capture=graphs)
    engine.prepare(SearchOptions(beam, rule=rule))
    return engine


def test_every_bucket_is_recorded_at_the_start_and_none_later(endless: Transformer) -> None:
    graphs = FakeGraphs()
    engine = prepared(endless, graphs)
    assert graphs.n_recorded == 3 * 2 * 2  # 1, 2, 4 slots; 16, 32 positions of each side
    assert engine.memory.work > 0
    n_before = graphs.n_replayed
    jobs = [limited(n, 12 + n, beam=2, source=(5, *[3 + n] * (5 * n), 1)) for n in range(4)]
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(endless, job))
    assert graphs.n_recorded == 12
    assert graphs.n_replayed - n_before >= 15


def test_a_job_longer_than_prepared_leaves_recorded_graphs(endless: Transformer) -> None:
    graphs = FakeGraphs()
    engine = prepared(endless, graphs)
    for job in (limited(0, 40, beam=2, source=(5, 3, 1)), limited(1, 9, beam=2, source=(5, 4, 1))):
        check_same(run(engine, [job])[job.id], expected_hypotheses(endless, job))
    assert graphs.n_recorded == 12 + 6  # those of the long job have a separate batch


def test_graphs_that_do_nothing_are_not_used(
    endless: Transformer, caplog: pytest.LogCaptureFixture
) -> None:
    engine = torch_engine(endless, capture=lambda work: lambda: None)
    engine.prepare(SearchOptions(2))
    assert "find other translations" in caplog.text
    job = limited(0, 9, beam=2, source=(5, 3, 1))
    check_same(run(engine, [job])[0], expected_hypotheses(endless, job))


@pytest.mark.parametrize("name", ["separate vocabularies", "no bias"])
def test_recorded_steps_find_what_the_reference_finds(
    make_varied_model: MakeModel, name: str
) -> None:
    model = make_varied_model(**FAMILY[name], eos_bias=1.5)
    engine = prepared(model, FakeGraphs(), beam=4)
    jobs = every_option(model, seed=len(name))[::4]
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(model, job))


@pytest.mark.parametrize("rule", RULES)
def test_recorded_steps_find_what_the_reference_finds_by_each_rule(
    make_varied_model: MakeModel, rule: str
) -> None:
    model = make_varied_model(**FAMILY["a tiny vocabulary"], eos_bias=2.5)
    engine = prepared(model, FakeGraphs(), beam=3, rule=RULES[rule])
    jobs = every_option(model, len(rule), RULES[rule])[::4]
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(model, job))


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("operation not permitted when stream is capturing"),
        torch.OutOfMemoryError("CUDA out of memory"),
    ],
)
def test_an_engine_that_cannot_record_serves(endless: Transformer, error: Exception) -> None:
    graphs = FakeGraphs(error, after=5)
    engine = prepared(endless, graphs)
    assert graphs.n_recorded == 5
    jobs = [limited(n, 9, beam=2, source=(5, 3 + n, 1)) for n in range(3)]
    graphs._error = None
    outcomes = run(engine, jobs)
    for job in jobs:
        check_same(outcomes[job.id], expected_hypotheses(endless, job))
    # A shortage of memory is temporary; an operation that cannot be recorded is not.
    assert (graphs.n_recorded > 5) == isinstance(error, torch.OutOfMemoryError)


def test_another_error_while_recording_is_raised(endless: Transformer) -> None:
    with pytest.raises(ValueError, match="a bug"):
        prepared(endless, FakeGraphs(ValueError("a bug")))


def test_without_graphs_nothing_is_done(endless: Transformer) -> None:
    engine = torch_engine(endless)
    engine.prepare(SearchOptions(4))
    assert not engine._batches


def test_the_batch_with_graphs_is_kept_besides_the_latest(endless: Transformer) -> None:
    graphs = FakeGraphs()
    engine = prepared(endless, graphs)
    for beam in (1, 3, 4, 5):
        job = limited(beam, 3, beam=beam, source=(5, 3, 1))
        run(engine, [job])
    n_recorded = graphs.n_recorded
    run(engine, [limited(9, 3, beam=2, source=(5, 3, 1))])
    assert graphs.n_recorded == n_recorded
