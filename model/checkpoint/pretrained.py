"""Loads a checkpoint's weights into the paper's modules, for computation with torch."""

import torch

from model.checkpoint.reader import Checkpoint
from model.transformer.transformer import Transformer, transformer_without_weights


def load_model(checkpoint: Checkpoint, device: str = "cpu") -> Transformer:
    """Return the model in float32, in evaluation mode."""
    model = transformer_without_weights(checkpoint.config.transformer)
    model.materialise(torch.device(device))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(checkpoint.weights[name]))
    return model.eval()
