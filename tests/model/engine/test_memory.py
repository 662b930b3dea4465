"""The forecast of a model's memory equals what its engines allocate."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from model.checkpoint.parameters import parameter_shapes
from model.checkpoint.tensor_file import TensorFile
from model.decoding.hypothesis import SearchOptions
from model.engine.cpu.engine import CpuEngine
from model.engine.cpu.forward.weights import pack
from model.engine.memory import expected_bytes, sentences_bytes
from model.engine.protocol import Job, PrecisionChoice
from model.engine.torch.device import dtype_of
from model.transformer.config import PRESETS, TransformerConfig
from model.transformer.transformer import Transformer
from tests.model.engine.torch.running import torch_engine

CONFIGS = {
    "tiny": PRESETS["tiny"],
    "small": PRESETS["small"],
    "separate": PRESETS["small"].model_copy(
        update={"share_embeddings": False, "tie_output": False, "target_vocab_size": 9_000}
    ),
}


def engine(config: TransformerConfig, precision: str, folder: Path) -> CpuEngine:
    noise = np.random.default_rng(0)
    tensors = {
        name: noise.normal(size=shape).astype(np.float32)
        for name, shape in parameter_shapes(config).items()
    }
    save_file(tensors, folder / "model.safetensors")
    mapped = TensorFile(folder / "model.safetensors")
    return CpuEngine(config, pack(config, mapped, "int8" if precision == "int8" else "float32"))


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_forecast_is_what_an_engine_allocates(
    name: str, precision: str, tmp_path: Path
) -> None:
    config = CONFIGS[name]
    held = engine(config, precision, tmp_path).memory
    forecast = expected_bytes(config, "fp32" if precision == "fp32" else "auto", 2)
    forecast -= 2 * sentences_bytes(config)
    assert forecast == pytest.approx(held.weights + 2 * held.work, rel=0.1, abs=1_500_000)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_the_forecast_is_what_a_torch_engine_allocates(
    name: str, precision: PrecisionChoice
) -> None:
    config = CONFIGS[name]
    model = Transformer(config).to(dtype_of(precision, "cpu"))
    forecast = expected_bytes(config, precision, 2, ("cpu",))
    assert forecast == pytest.approx(torch_engine(model).memory.weights, rel=0.1, abs=300_000)
    assert expected_bytes(config, precision, 2, ("cuda:0", "cuda:1")) == 2 * forecast
    assert expected_bytes(config, "auto", 2, ("cuda:0",)) == 2 * forecast  # float32 at most


def test_a_table_of_many_rows_is_not_held(tmp_path: Path) -> None:
    """A server loads only the used rows of M2M-100's 128,000."""
    few, many = (
        PRESETS["tiny"].model_copy(update={"source_vocab_size": n, "share_embeddings": False})
        for n in (100, 100_000)
    )
    assert expected_bytes(many) == expected_bytes(few)
    for name, config in (("few", few), ("many", many)):
        (tmp_path / name).mkdir()
        assert engine(config, "int8", tmp_path / name).memory.weights < 1_000_000


def test_memory_grows_with_what_was_in_flight_at_a_time(kernels: None, tmp_path: Path) -> None:
    config = PRESETS["tiny"]
    one = engine(config, "int8", tmp_path)
    before = one.memory
    options = SearchOptions(beam_size=4, max_target_tokens=20)
    one.admit([Job(index, (5, 6, 7, config.eos_id), options) for index in range(8)])
    while one.busy:
        one.step()
    after = one.memory
    assert after.weights == before.weights
    assert after.work > before.work
    one.admit([Job(9, (5, 6, config.eos_id), options)])
    while one.busy:
        one.step()
    assert one.memory == after
