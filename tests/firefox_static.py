"""The paper's modules with the integer arithmetic of Firefox's engines, to compare answers.

Firefox quantises the input of a product by a multiplier a in the model's file, and the engine that
recorded the answers adds pairs of products in 16 bits, which saturates. attend measures the scale
of every row, and its sums are exact, so only models in this mode have the same answers.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint
from model.interop.firefox.binary_format import QuantizedMatrix, read_binary
from model.interop.npz.network import matrix_names
from model.transformer.transformer import Transformer

_LARGEST = 127


class StaticProduct(nn.Module):
    """y = u Σ A q + (b − 127 u Σ q), where A = round(x a) + 127 and u = 1 / (a m)."""

    def __init__(
        self, matrix: QuantizedMatrix, alpha: float, bias: Tensor | None, *, saturates: bool = True
    ) -> None:
        super().__init__()
        self.in_features = matrix.codes.shape[1]
        self._codes = matrix.codes.astype(np.int32)
        self._alpha = np.float32(alpha)
        self._saturates = saturates
        self._scale = np.float32(1) / (self._alpha * np.float32(matrix.multiplier))
        start = np.float32(0) if bias is None else bias.detach().numpy()
        sums = self._codes.sum(axis=1).astype(np.float32)
        self._start = start - np.float32(_LARGEST) * self._scale * sums

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, self.in_features).numpy()
        codes = np.rint(rows * self._alpha).clip(-_LARGEST, _LARGEST).astype(np.int32) + _LARGEST
        if self._saturates:
            products = codes[:, None, 0::2] * self._codes[None, :, 0::2]
            products += codes[:, None, 1::2] * self._codes[None, :, 1::2]
            sums = products.clip(-(2**15), 2**15 - 1).sum(axis=2)
        else:
            sums = codes @ self._codes.T
        found = sums.astype(np.float32) * self._scale + self._start
        return torch.from_numpy(found).view(*x.shape[:-1], -1)


def static_model(checkpoint: Checkpoint, path: Path, *, saturates: bool = True) -> Transformer:
    """Return an imported model with the products of the file that it was imported from."""
    items = read_binary(path.read_bytes(), str(path)).items
    model = load_model(checkpoint)
    modules = dict(model.named_modules())

    def product(name: str, bias: Tensor | None) -> StaticProduct:
        matrix, alpha = items[name], items[f"{name}_QuantMultA"]
        assert isinstance(matrix, QuantizedMatrix)
        value = alpha.values() if isinstance(alpha, QuantizedMatrix) else alpha
        return StaticProduct(matrix, float(value.item()), bias, saturates=saturates)

    for ours, theirs in matrix_names(checkpoint.config.transformer):
        parent, _, child = ours.removesuffix(".weight").rpartition(".")
        linear = modules[f"{parent}.{child}"]
        assert isinstance(linear, nn.Linear)
        setattr(modules[parent], child, product(theirs, linear.bias))
    embedding = "Wemb" if "Wemb" in items else "decoder_Wemb"
    # The row of <pad>, which the file lacks, is never chosen.
    bias, n_pad = model.output.bias, 1
    assert bias is not None
    output = product(embedding, bias[:-n_pad])
    model.output = nn.Sequential(output, nn.ConstantPad1d((0, n_pad), -torch.inf))  # type: ignore[assignment]
    return model
