"""A shortage of memory splits and defers work, and fails only jobs that do not fit alone."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from model.decoding.constrained import constrained_steps
from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule
from model.engine.protocol import Job
from model.engine.torch import batch as batch_module
from model.engine.torch import constrained as constrained_module
from model.engine.torch.batch import Batch
from model.engine.torch.device import memory_errors, release_cache
from model.engine.torch.encoder import NewSentence, encode_into
from model.engine.torch.state import Sizes, State
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import run
from tests.model.engine.cpu.test_constrained import draw_constrained, draw_edges
from tests.model.engine.jobs import check_same, draw_jobs
from tests.model.engine.torch.running import expected_hypotheses, tokens_of, torch_engine
from tests.model.make_model import MakeModel

SHORT = torch.OutOfMemoryError("CUDA out of memory")
ON_CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
)


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (SHORT, True), (ON_CPU, True), (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 8 GB"), True),
        (torch.AcceleratorError("CUDA error: out of memory"), True),
        (torch.AcceleratorError("CUDA error: an illegal memory access was encountered"), False),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED"), False),
        (RuntimeError("shape mismatch"), False), (ValueError("can't allocate memory"), False),
    ],
)  # fmt: skip
def test_which_errors_report_a_shortage_of_memory(error: Exception, short: bool) -> None:
    with pytest.raises(MemoryError if short else type(error)), memory_errors():
        raise error


def test_torch_reports_it_on_a_cpu() -> None:
    with pytest.raises(MemoryError), memory_errors():
        torch.empty(2**58)


def test_unused_memory_is_released_by_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    for name in ("cuda", "xpu", "mps"):
        monkeypatch.setattr(
            getattr(torch, name), "empty_cache", lambda name=name: called.append(name)
        )
        release_cache(torch.device(name))
    release_cache(torch.device("cpu"))
    assert called == ["cuda", "xpu", "mps"]


@pytest.fixture(params=[SHORT, ON_CPU], ids=["device", "cpu"])
def error(request: pytest.FixtureRequest) -> Exception:
    assert isinstance(request.param, Exception)
    return request.param


@pytest.fixture(params=[1, 3])
def most(request: pytest.FixtureRequest) -> int:
    """Return the number of sentences that fit into memory."""
    return int(request.param)


def jobs_of(model: Transformer) -> list[Job]:
    """Return jobs that join one batch."""
    jobs = draw_jobs(model, 12, seed=2)
    options = SearchOptions(3, 2)
    return [Job(job.id, job.source_ids[-8:], options) for job in jobs]


def test_sentences_that_cannot_be_encoded_at_once_are_split(
    model: Transformer, monkeypatch: pytest.MonkeyPatch, most: int, error: Exception
) -> None:
    jobs = jobs_of(model)
    expected = tokens_of(run(torch_engine(model), jobs))
    refused = 0

    def limited(group: Sequence[NewSentence], *rest: Any) -> None:
        nonlocal refused
        if len(group) > most:
            refused += 1
            raise error
        encode_into(group, *rest)

    monkeypatch.setattr(batch_module, "encode_into", limited)
    engine = torch_engine(model)
    engine.admit(jobs)
    assert tokens_of(run(engine, [])) == expected
    assert refused


def test_slots_that_cannot_be_decoded_at_once_take_turns(
    model: Transformer, monkeypatch: pytest.MonkeyPatch, most: int, error: Exception
) -> None:
    jobs = jobs_of(model)
    expected = tokens_of(run(torch_engine(model), jobs))
    decode = Batch._decode_window

    def limited(self: Batch, low: int, high: int, *rest: Any) -> None:
        if high - low > most:
            raise error
        decode(self, low, high, *rest)

    monkeypatch.setattr(Batch, "_decode_window", limited)
    assert tokens_of(run(torch_engine(model), jobs)) == expected


class FailsOnce(TorchDispatchMode):
    """Lets the allocation `at`, counted from 0, run out of memory, once."""

    def __init__(self, at: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._left = at

    @property
    def failed(self) -> bool:
        return self._left < 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        writes = func._schema.is_mutable or any(one.alias_info for one in func._schema.returns)
        self._left -= not writes
        if self._left == -1 and not writes:
            raise SHORT
        return func(*args, **kwargs or {})


@pytest.mark.parametrize("autoregression", ["self-attention", "ssru"])
def test_a_step_is_repeated_whichever_of_its_allocations_fails(
    make_varied_model: MakeModel, monkeypatch: pytest.MonkeyPatch, autoregression: str
) -> None:
    model = make_varied_model(autoregression=autoregression)
    jobs = [Job(n, (5 + n, 6, 1), SearchOptions(2, max_target_tokens=4)) for n in range(2)]
    decode, n_steps = Batch._decode_window, 0
    modes: list[FailsOnce] = []

    def failing(self: Batch, *args: Any) -> None:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 3:  # not the first: the hypotheses have a past
            state = self._state
            searched = (state.live, state.latest, state.ancestors, state.length, state.report)
            before = [one.clone() for one in searched]
            try:
                with modes[-1]:
                    decode(self, *args)
            except type(SHORT):
                assert all(map(torch.equal, searched, before))
                raise
        else:
            decode(self, *args)

    monkeypatch.setattr(Batch, "_decode_window", failing)
    for at in itertools.count():
        n_steps = 0
        modes.append(FailsOnce(at))
        outcomes = run(torch_engine(model), jobs)
        for job in jobs:
            check_same(outcomes[job.id], expected_hypotheses(model, job))
        if not modes[-1].failed:
            break
    assert at > 50


def test_unfit_sentences_wait(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is memory for a state of at most two slots."""
    jobs = jobs_of(model)
    expected = tokens_of(run(torch_engine(model), jobs))
    empty = State.empty

    def small(sizes: Sizes, *rest: Any) -> State:
        if sizes.slots > 2:
            raise SHORT
        return empty(sizes, *rest)

    monkeypatch.setattr(State, "empty", small)
    engine = torch_engine(model)
    engine.admit(jobs)
    assert tokens_of(run(engine, [])) == expected
    assert not engine.busy


def test_too_long_a_sentence_fails(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = jobs_of(model)
    longest = max(jobs, key=lambda job: len(job.source_ids))
    expected = tokens_of(run(torch_engine(model), [job for job in jobs if job is not longest]))

    def refuse_longest(group: Sequence[NewSentence], *rest: Any) -> None:
        if any(one.job.id == longest.id for one in group):
            raise SHORT
        encode_into(group, *rest)

    monkeypatch.setattr(batch_module, "encode_into", refuse_longest)
    engine = torch_engine(model)
    engine.admit(jobs)
    outcomes = run(engine, [])
    assert isinstance(outcomes[longest.id], MemoryError)
    assert tokens_of(outcomes) == expected


def test_searches_with_terms_wait_too(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = draw_edges(model, 1)
    jobs = draw_constrained(model, edges, 4, 2)
    expected = tokens_of(run(torch_engine(model, edges=edges), jobs))
    engine = torch_engine(model, edges=edges)
    steps = constrained_steps

    def alone(*arguments: Any) -> Any:
        if len(engine._constrained) > 1:
            raise SHORT
        return (yield from steps(*arguments))

    monkeypatch.setattr(constrained_module, "constrained_steps", alone)
    engine.admit(jobs)
    assert tokens_of(run(engine, [])) == expected


def test_a_sentence_that_ends_in_a_step_without_memory_for_others_is_not_lost(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced = HuggingFaceRule(force_end=True)
    jobs = [
        Job(0, (5, 6, 1), SearchOptions(2, max_target_tokens=1, rule=forced)),  # needs no step
        Job(1, (5, 6, 7, 1), SearchOptions(2, max_target_tokens=6, rule=forced)),
        Job(2, (5, 6, 1), SearchOptions(2, constraints=(Constraint((Wording((9,)),)),))),
    ]
    expected = tokens_of(run(torch_engine(model), jobs))
    decode, steps = Batch._decode_window, constrained_steps
    n_failed = 0

    def fail_twice() -> None:
        nonlocal n_failed
        if n_failed < 2:
            n_failed += 1
            raise SHORT

    def first_fails(self: Batch, *window: Any) -> None:
        fail_twice()
        decode(self, *window)

    def first_search_fails(*arguments: Any) -> Any:
        fail_twice()
        return (yield from steps(*arguments))

    monkeypatch.setattr(Batch, "_decode_window", first_fails)
    monkeypatch.setattr(constrained_module, "constrained_steps", first_search_fails)
    engine = torch_engine(model)
    engine.admit(jobs)
    assert tokens_of(run(engine, [])) == expected
    assert n_failed == 2


def test_other_errors_empty_the_engine(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = jobs_of(model)
    expected = tokens_of(run(torch_engine(model), jobs))
    engine = torch_engine(model)
    engine.admit(jobs)
    for target in ("_decode_window", "_encode"):
        with monkeypatch.context() as patch:
            patch.setattr(Batch, target, lambda *_: (_ for _ in ()).throw(RuntimeError("struck")))
            engine.admit(jobs)
            with pytest.raises(RuntimeError, match="struck"):
                engine.step()
        assert not engine.busy
    assert tokens_of(run(engine, jobs)) == expected
