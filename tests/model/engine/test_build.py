from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.rules import HuggingFaceRule, MarianRule, Rule
from model.engine.build import build_engines, combined_info, expected_info
from model.engine.cpu.engine import CpuEngine
from model.engine.protocol import Engine, EngineInfo, PrecisionChoice
from model.engine.torch.engine import TorchEngine
from model.errors import ConfigError


@pytest.fixture
def checkpoint(tiny_checkpoint: Path) -> Checkpoint:
    return load_checkpoint(tiny_checkpoint)


def kinds(engines: Sequence[Engine]) -> set[type]:
    return {type(engine) for engine in engines}


@pytest.mark.parametrize(
    ("choice", "precision"), [("auto", "int8"), ("int8", "int8"), ("fp32", "float32")]
)
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("rule", [None, HuggingFaceRule(), MarianRule(3)])
def test_a_cpu_has_an_engine_for_each_thread(
    checkpoint: Checkpoint,
    rule: Rule | None,
    choice: PrecisionChoice,
    precision: str,
    n_threads: int,
) -> None:
    config = checkpoint.config.model_copy(update={"search_rule": rule})
    engines = build_engines(replace(checkpoint, config=config), choice, n_threads)
    assert kinds(engines) == {CpuEngine}
    assert [engine.info for engine in engines] == [
        EngineInfo("cpu", "cpu", precision, 1)
    ] * n_threads
    weights = {id(engine._weights) for engine in engines if isinstance(engine, CpuEngine)}
    assert len(weights) == 1


@pytest.mark.parametrize(
    ("choice", "precision"), [("auto", "float32"), ("fp32", "float32"), ("bf16", "bfloat16")]
)
def test_other_devices(checkpoint: Checkpoint, choice: PrecisionChoice, precision: str) -> None:
    devices = ("cpu:0", "cpu:1")
    engines = build_engines(checkpoint, choice, n_threads=1, devices=devices)
    assert kinds(engines) == {TorchEngine}
    assert len(engines) == 2
    assert {(one.info.engine, one.info.precision) for one in engines} == {("torch", precision)}
    expected = expected_info(choice, 1, devices)
    assert expected == EngineInfo("torch", "cpu:0,cpu:1", precision, 2)


@pytest.mark.parametrize(("choice", "precision"), [("bf16", "bfloat16"), ("fp16", "float16")])
def test_half_precision_on_a_cpu(
    checkpoint: Checkpoint, choice: PrecisionChoice, precision: str
) -> None:
    engines = build_engines(checkpoint, choice, n_threads=1)
    assert kinds(engines) == {TorchEngine}
    assert combined_info(engines) == expected_info(choice, 1, ("cpu",))
    assert combined_info(engines) == EngineInfo("torch", "cpu", precision, 1)


def test_engines_are_described_all_together(checkpoint: Checkpoint) -> None:
    engines = build_engines(checkpoint, n_threads=3)
    assert combined_info(engines) == EngineInfo("cpu", "cpu", "int8", 3)
    assert combined_info(engines) == expected_info("auto", 3, ("cpu",))


def test_an_unsupported_precision_is_refused_by_name(checkpoint: Checkpoint) -> None:
    with pytest.raises(ConfigError, match="precision 'int8': only on a CPU, not on cuda:1"):
        build_engines(checkpoint, "int8", devices=("cuda:1",))
