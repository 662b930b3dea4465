"""Memory that is too short splits and defers work, and fails only what does not fit alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from model.decoding.constrained import constrained_steps
from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule
from model.engine.protocol import Job
from model.engine.torch import batch as batch_module
from model.engine.torch import constrained as constrained_module
from model.engine.torch.batch import Batch
from model.engine.torch.memory_short import give_back_unused, is_memory_short
from model.engine.torch.newcomers import Newcomer, seat
from model.engine.torch.state import Sizes, State
from model.transformer.transformer import Transformer
from tests.model.engine.cpu.running import draw_jobs, run
from tests.model.engine.cpu.test_constrained import draw_constrained, draw_edges
from tests.model.engine.torch.running import said, torch_engine

SHORT = torch.OutOfMemoryError("CUDA out of memory")
ON_CPU = RuntimeError(
    "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory"
)


@pytest.mark.parametrize(
    ("error", "short"),
    [
        (SHORT, True), (ON_CPU, True), (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to"), True),
        (RuntimeError("shape mismatch"), False), (ValueError("can't allocate memory"), False),
    ],
)  # fmt: skip
def test_what_says_that_memory_is_short(error: Exception, short: bool) -> None:
    assert is_memory_short(error) is short


def test_torch_says_so_on_a_cpu() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**58)
    assert is_memory_short(caught.value)


def test_unused_memory_is_given_back_by_the_devices_own_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called = []
    for name in ("cuda", "xpu", "mps"):
        monkeypatch.setattr(
            getattr(torch, name), "empty_cache", lambda name=name: called.append(name)
        )
        give_back_unused(torch.device(name))
    give_back_unused(torch.device("cpu"))
    assert called == ["cuda", "xpu", "mps"]


@pytest.fixture(params=[SHORT, ON_CPU], ids=["device", "cpu"])
def error(request: pytest.FixtureRequest) -> Exception:
    assert isinstance(request.param, Exception)
    return request.param


@pytest.fixture(params=[1, 3])
def most(request: pytest.FixtureRequest) -> int:
    """Sentences at once that there is memory for."""
    return int(request.param)


def jobs_of(model: Transformer) -> list[Job]:
    """In one batch."""
    jobs = draw_jobs(model, 12, seed=2)
    options = SearchOptions(3, 2)
    return [Job(job.id, job.source_ids[-8:], options) for job in jobs]


def test_what_cannot_be_encoded_at_once_is_in_parts(
    model: Transformer, monkeypatch: pytest.MonkeyPatch, most: int, error: Exception
) -> None:
    jobs = jobs_of(model)
    expected = said(run(torch_engine(model), jobs))
    refused = 0

    def narrow(group: Sequence[Newcomer], *rest: Any) -> None:
        nonlocal refused
        if len(group) > most:
            refused += 1
            raise error
        seat(group, *rest)

    monkeypatch.setattr(batch_module, "seat", narrow)
    engine = torch_engine(model)
    engine.admit(jobs)
    assert said(run(engine, [])) == expected
    assert refused


def test_what_cannot_be_decoded_at_once_is_in_turns(
    model: Transformer, monkeypatch: pytest.MonkeyPatch, most: int, error: Exception
) -> None:
    jobs = jobs_of(model)
    expected = said(run(torch_engine(model), jobs))
    decode = Batch._decode_window

    def narrow(self: Batch, low: int, high: int, *rest: Any) -> None:
        if high - low > most:
            raise error
        decode(self, low, high, *rest)

    monkeypatch.setattr(Batch, "_decode_window", narrow)
    assert said(run(torch_engine(model), jobs)) == expected


def test_what_has_no_place_beside_others_waits(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A state of two slots at most can be had."""
    jobs = jobs_of(model)
    expected = said(run(torch_engine(model), jobs))
    empty = State.empty

    def small(sizes: Sizes, *rest: Any) -> State:
        if sizes.slots > 2:
            raise SHORT
        return empty(sizes, *rest)

    monkeypatch.setattr(State, "empty", small)
    engine = torch_engine(model)
    engine.admit(jobs)
    assert said(run(engine, [])) == expected
    assert not engine.busy


def test_what_does_not_fit_alone_fails_alone(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = jobs_of(model)
    longest = max(jobs, key=lambda job: len(job.source_ids))
    expected = said(run(torch_engine(model), [job for job in jobs if job is not longest]))

    def strict(group: Sequence[Newcomer], *rest: Any) -> None:
        if any(one.job is longest for one in group):
            raise SHORT
        seat(group, *rest)

    monkeypatch.setattr(batch_module, "seat", strict)
    engine = torch_engine(model)
    engine.admit(jobs)
    outcomes = run(engine, [])
    assert isinstance(outcomes[longest.id], MemoryError)
    assert said(outcomes) == expected


def test_searches_with_terms_wait_too(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = draw_edges(model, 1)
    jobs = draw_constrained(model, edges, 4, 2)
    expected = said(run(torch_engine(model, edges=edges), jobs))
    engine = torch_engine(model, edges=edges)
    steps = constrained_steps

    def alone(*arguments: Any) -> Any:
        if len(engine._constrained) > 1:
            raise SHORT
        return (yield from steps(*arguments))

    monkeypatch.setattr(constrained_module, "constrained_steps", alone)
    engine.admit(jobs)
    assert said(run(engine, [])) == expected


def test_what_ends_in_a_step_that_others_have_no_memory_for_is_not_lost(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced = HuggingFaceRule(force_end=True)
    jobs = [
        Job(0, (5, 6, 1), SearchOptions(2, max_target_tokens=1, rule=forced)),  # needs no step
        Job(1, (5, 6, 7, 1), SearchOptions(2, max_target_tokens=6, rule=forced)),
        Job(2, (5, 6, 1), SearchOptions(2, constraints=(Constraint((Wording((9,)),)),))),
    ]
    expected = said(run(torch_engine(model), jobs))
    decode, steps = Batch._decode_window, constrained_steps
    n_failed = 0

    def sometimes() -> None:
        nonlocal n_failed
        if n_failed < 2:
            n_failed += 1
            raise SHORT

    def first_fails(self: Batch, *window: Any) -> None:
        sometimes()
        decode(self, *window)

    def first_search_fails(*arguments: Any) -> Any:
        sometimes()
        return (yield from steps(*arguments))

    monkeypatch.setattr(Batch, "_decode_window", first_fails)
    monkeypatch.setattr(constrained_module, "constrained_steps", first_search_fails)
    engine = torch_engine(model)
    engine.admit(jobs)
    assert said(run(engine, [])) == expected
    assert n_failed == 2


def test_any_other_error_empties_the_engine(
    model: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = jobs_of(model)
    expected = said(run(torch_engine(model), jobs))
    engine = torch_engine(model)
    engine.admit(jobs)
    for target in ("_decode_window", "_seat"):
        with monkeypatch.context() as patch:
            patch.setattr(Batch, target, lambda *_: (_ for _ in ()).throw(RuntimeError("struck")))
            engine.admit(jobs)
            with pytest.raises(RuntimeError, match="struck"):
                engine.step()
        assert not engine.busy
    assert said(run(engine, jobs)) == expected
