from pathlib import Path

import numpy as np
import torch

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import load_checkpoint


def test_a_model_has_the_checkpoints_weights_and_no_dropout(tiny_checkpoint: Path) -> None:
    checkpoint = load_checkpoint(tiny_checkpoint)
    model = load_model(checkpoint)
    assert not model.training
    parameters = dict(model.named_parameters())
    assert parameters.keys() == checkpoint.weights.keys()
    for name, parameter in parameters.items():
        assert parameter.dtype == torch.float32
        assert np.array_equal(parameter.detach().numpy(), checkpoint.weights[name])


def test_it_is_on_the_requested_device(tiny_checkpoint: Path) -> None:
    assert load_model(load_checkpoint(tiny_checkpoint), "meta").device.type == "meta"
