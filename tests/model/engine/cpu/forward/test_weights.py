from collections.abc import Iterator
from typing import Literal

import pytest

from model.checkpoint.parameters import parameter_shapes
from model.engine.cpu.forward.weights import Weights, pack
from model.engine.cpu.kernels.packing import Linear
from model.transformer.config import PRESETS
from tests.model.engine.cpu.matrices import normal


def addresses(weights: Weights) -> dict[int, tuple[str, Linear, int]]:
    """Return all linear maps by the address of their weights, with names and layers."""
    maps = {"output": weights.output}
    for stack in ("encoder", "decoder", "cross"):
        fields = getattr(weights, stack)._asdict()
        maps |= {f"{stack}.{name}": one for name, one in fields.items() if isinstance(one, Linear)}
    return {
        one.weight[layer:].ctypes.data: (name, one, layer)
        for name, one in maps.items()
        for layer in range(len(one.weight))
    }


def in_order(weights: Weights) -> Iterator[str]:
    """Follow each map to the one that is prefetched, until one repeats."""
    at, found, seen = weights.encoder.qkv.weight.ctypes.data, addresses(weights), set[int]()
    while at not in seen:
        seen.add(at)
        name, one, layer = found[at]
        yield f"{name} {layer}"
        at = int(one.following[layer])
    yield f"{found[at][0]} {found[at][2]}"


@pytest.mark.parametrize("autoregression", ["attention", "ssru"])
def test_weights_follow_each_other_as_a_step_reads_them(
    autoregression: Literal["attention", "ssru"],
) -> None:
    config = PRESETS["tiny"].model_copy(
        update={"n_encoder_layers": 1, "n_decoder_layers": 2, "autoregression": autoregression}
    )
    tensors = {name: normal(*shape) for name, shape in parameter_shapes(config).items()}
    if autoregression == "ssru":
        attention = [["decoder.qkv 0", "decoder.qkv 1"], ["decoder.qkv 2", "decoder.qkv 3"]]
    else:
        attention = [
            ["decoder.qkv 0", "decoder.qkv 1", "decoder.qkv 2", "decoder.output 0"],
            ["decoder.qkv 3", "decoder.qkv 4", "decoder.qkv 5", "decoder.output 1"],
        ]
    assert list(in_order(pack(config, tensors, "int8"))) == [
        "encoder.qkv 0", "encoder.qkv 1", "encoder.qkv 2", "encoder.output 0",
        "encoder.w_1 0", "encoder.w_2 0",
        "cross.memory_kv 0", "cross.memory_kv 1", "cross.memory_kv 2", "cross.memory_kv 3",
        *attention[0], "cross.query 0", "cross.output 0", "decoder.w_1 0", "decoder.w_2 0",
        *attention[1], "cross.query 1", "cross.output 1", "decoder.w_1 1", "decoder.w_2 1",
        "output 0", "decoder.qkv 0",
    ]  # fmt: skip
