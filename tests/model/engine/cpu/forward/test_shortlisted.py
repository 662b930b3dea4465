import numpy as np
import pytest

from model.checkpoint.parameters import parameter_shapes
from model.engine.cpu.forward.shortlisted import allocate_columns, copy_columns
from model.engine.cpu.forward.slots import make_slots
from model.engine.cpu.forward.weights import Precision, pack
from model.transformer import parameter_names as names
from model.transformer.config import PRESETS
from tests.model.engine.cpu.matrices import normal, unpacked


@pytest.mark.parametrize(
    ("precision", "has_codes"), [("int8", True), ("int8", False), ("float32", False)]
)
def test_copied_columns_are_those_of_the_candidates(precision: Precision, has_codes: bool) -> None:
    config = PRESETS["tiny"].model_copy(
        update={"source_vocab_size": 300, "target_vocab_size": 300, "tie_output": True}
    )
    tensors = {name: normal(*shape) for name, shape in parameter_shapes(config).items()}
    codes = np.random.default_rng(0).integers(-127, 128, (300, config.d_model)).astype(np.int8)
    quantized = {f"{names.SOURCE_EMBEDDING}.weight": (codes, 0.5)} if has_codes else {}
    weights = pack(config, tensors, precision, quantized)
    ids = np.array([0, 1, 7, 63, 64, 65, 130, 299, *range(140, 210)])
    columns = allocate_columns(weights.output, ids)
    slots = make_slots(2, 8)
    slots.columns[1] = columns.record
    copy_columns(weights, slots, 1)
    whole = unpacked(weights.output, 0, 300, config.d_model)
    # Padding is zero bytes, which mean −128 where 128 is added: their outputs are −∞.
    found = unpacked(columns.columns, 0, columns.columns.bias.shape[1], config.d_model)
    np.testing.assert_array_equal(found[: len(ids)], whole[ids])
    np.testing.assert_array_equal(
        columns.columns.scale[0, : len(ids)], weights.output.scale[0, ids]
    )
