"""Smaller parts of the engine."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from unittest.mock import Mock

import pytest
import torch

from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job, PrecisionChoice
from model.engine.torch import graphs as graphs_module
from model.engine.torch.device import dtype_of
from model.engine.torch.encoder import MAX_TOKENS, NewSentence, by_length
from model.engine.torch.graphs import Capture, Graphs, Step, capture_for
from model.engine.torch.search import CHUNK, top_logits
from model.errors import ConfigError


@pytest.mark.parametrize("vocab_size", [3, 40, 16 * CHUNK, 17 * CHUNK - 1, 17 * CHUNK + 5])
@pytest.mark.parametrize("n", [1, 3])
def test_the_top_logits_are_the_top_ones(vocab_size: int, n: int) -> None:
    logits = torch.randn(5, vocab_size)
    logits[0, -1] = 100
    logits[1, 0] = 100
    best, tokens = top_logits(logits, n)
    expected = logits.topk(n)
    assert torch.equal(best, expected.values)
    assert torch.equal(tokens, expected.indices)
    logits[2, vocab_size // 2] = torch.nan
    best, tokens = top_logits(logits, n)
    assert best[2, 0].isnan()
    assert int(best.isnan().sum()) == 1
    assert tokens[2, 0] == vocab_size // 2


def new_sentences(*lengths: int) -> list[NewSentence]:
    return [
        NewSentence(Job(slot, (1,) * length, SearchOptions()), slot)
        for slot, length in enumerate(lengths)
    ]


def groups(*lengths: int) -> list[list[int]]:
    return [[one.n_tokens for one in group] for group in by_length(new_sentences(*lengths))]


def test_new_sentences_are_encoded_with_others_of_their_length() -> None:
    assert groups() == []
    assert groups(3, 30, 4, 29, 30) == [[30, 30, 29], [4, 3]]
    assert groups(10, 10, 6, 6) == [[10, 10, 6, 6]]
    assert groups(10, 2) == [[10, 2]]
    assert groups(11, 2) == [[11], [2]]
    assert groups(60, 40, 39) == [[60, 40], [39]]
    assert groups(MAX_TOKENS // 2, MAX_TOKENS // 2, MAX_TOKENS // 2) == [
        [MAX_TOKENS // 2] * 2,
        [MAX_TOKENS // 2],
    ]


def test_work_is_recorded_the_second_time_and_replayed_from_then_on() -> None:
    log: list[str] = []

    def record(work: Step) -> Step:
        log.append("record")
        return lambda: log.append("replay")

    graphs = Graphs(record)
    for _ in range(3):
        graphs.run("a", lambda: log.append("a"))
    assert log == ["a", "record", "replay", "replay"]
    graphs.forget()
    graphs.run("a", lambda: log.append("a"))
    assert log[-1] == "a"


def test_work_that_cannot_be_recorded_is_done(caplog: pytest.LogCaptureFixture) -> None:
    log: list[str] = []

    def record(work: Step) -> Step:
        log.append("tried")
        raise RuntimeError("operation not permitted when stream is capturing")

    graphs = Graphs(record)
    for _ in range(4):
        graphs.run("a", lambda: log.append("a"))
    assert log == ["a", "tried", "a", "a", "a"]
    assert "not recorded as graphs: operation not permitted" in caplog.text


def test_memory_that_is_short_while_recording_is_reported() -> None:
    def record(work: Step) -> Step:
        raise torch.OutOfMemoryError

    graphs = Graphs(record)
    graphs.run("a", lambda: None)
    with pytest.raises(MemoryError):
        graphs.run("a", lambda: None)


def test_the_number_of_graphs_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs_module, "MAX_GRAPHS", 2)
    n_recorded = 0

    def record(work: Step) -> Step:
        nonlocal n_recorded
        n_recorded += 1
        return work

    graphs = Graphs(record)
    for key in ("a", "a", "b", "b", "c", "c", "c", "a"):
        graphs.run(key, lambda: None)
    assert n_recorded == 4
    assert len(graphs._recorded) == 2


def test_only_cuda_has_graphs() -> None:
    assert capture_for(torch.device("cpu")) is None


def test_each_device_records_in_a_stream_of_its_own_and_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    streams: list[object] = []
    depth, deepest = 0, 0

    @contextmanager
    def graph(_graph: object, _pool: object, stream: object, **_: object) -> Iterator[None]:
        nonlocal depth, deepest
        streams.append(stream)
        depth += 1
        deepest = max(deepest, depth)
        yield
        depth -= 1

    monkeypatch.setattr(torch.cuda, "Stream", str)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Mock)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    captures = [capture_for(torch.device("cuda", index)) for index in range(2)]
    both = Barrier(2)

    def record(capture: Capture) -> None:
        both.wait()
        for _ in range(3):
            capture(lambda: time.sleep(0.001))

    with ThreadPoolExecutor() as threads:
        list(threads.map(record, filter(None, captures)))
    assert sorted(map(str, streams)) == ["cuda:0"] * 3 + ["cuda:1"] * 3
    assert deepest == 1
    assert capture_for(torch.device("mps")) is None
    assert capture_for(torch.device("cuda", 1)) is not None


@pytest.mark.parametrize(
    ("precision", "dtype"),
    [("fp32", torch.float32), ("bf16", torch.bfloat16), ("fp16", torch.float16)],
)
def test_precisions_by_name(precision: PrecisionChoice, dtype: torch.dtype) -> None:
    assert dtype_of(precision, "cpu") == dtype


@pytest.mark.parametrize(
    ("device", "capability", "dtype"),
    [
        ("cuda:0", (8, 0), torch.bfloat16), ("cuda:0", (9, 0), torch.bfloat16),
        ("cuda:1", (7, 5), torch.float32), ("mps", (0, 0), torch.float32),
    ],
)  # fmt: skip
def test_auto_is_bfloat16_where_the_hardware_has_it(
    monkeypatch: pytest.MonkeyPatch, device: str, capability: tuple[int, int], dtype: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert dtype_of("auto", device) == dtype


@pytest.mark.parametrize("has", [True, False])
def test_auto_on_xpu(monkeypatch: pytest.MonkeyPatch, has: bool) -> None:
    monkeypatch.setattr(torch.xpu, "is_bf16_supported", lambda: has, raising=False)
    assert dtype_of("auto", "xpu") == (torch.bfloat16 if has else torch.float32)


def test_int8_is_refused() -> None:
    with pytest.raises(ConfigError, match="precision 'int8': only on a CPU, not on cuda:1"):
        dtype_of("int8", "cuda:1")
