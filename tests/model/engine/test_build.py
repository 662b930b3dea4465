from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import HuggingFaceRule
from model.engine.build import build_engines
from model.engine.cpu.engine import CpuEngine
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, EngineInfo, PrecisionChoice


@pytest.fixture
def checkpoint(tiny_checkpoint: Path) -> Checkpoint:
    return load_checkpoint(tiny_checkpoint)


def with_rule(checkpoint: Checkpoint) -> Checkpoint:
    config = checkpoint.config.model_copy(update={"search_rule": HuggingFaceRule()})
    return replace(checkpoint, config=config)


def kinds(engines: Sequence[Engine]) -> set[type]:
    return {type(engine) for engine in engines}


@pytest.mark.parametrize(
    ("choice", "precision"), [("auto", "int8"), ("int8", "int8"), ("fp32", "float32")]
)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_on_a_cpu_there_is_an_engine_for_each_thread(
    checkpoint: Checkpoint, choice: PrecisionChoice, precision: str, n_threads: int
) -> None:
    engines = build_engines(checkpoint, choice, n_threads)
    assert kinds(engines) == {CpuEngine}
    assert [engine.info for engine in engines] == [EngineInfo("cpu", precision, 1)] * n_threads
    weights = {id(engine._weights) for engine in engines if isinstance(engine, CpuEngine)}
    assert len(weights) == 1


@pytest.mark.parametrize("choice", get_args(PrecisionChoice))
def test_a_rule_of_search_of_its_own_takes_the_reference(
    checkpoint: Checkpoint, choice: PrecisionChoice
) -> None:
    engines = build_engines(with_rule(checkpoint), choice, n_threads=3)
    assert kinds(engines) == {EagerEngine}
    assert len(engines) == 1
    assert engines[0].info.precision == "float32"


def test_another_device_takes_the_reference(checkpoint: Checkpoint) -> None:
    engines = build_engines(checkpoint, "auto", n_threads=3, device="meta")
    assert kinds(engines) == {EagerEngine}
    assert len(engines) == 1
