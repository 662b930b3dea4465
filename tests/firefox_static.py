"""The paper's modules with the arithmetic of fxtranslate, for exact comparisons.

Firefox quantises the input of a product by a multiplier a in the model's file. An engine that adds
in another order, or computes a sine, e^x or a quotient differently in the last bit, sometimes
rounds an activation to the other integer, and a model with random weights then chooses other
tokens. Therefore sums here run from the first term to the last, and functions are those of
fxtranslate 0.5.0 on a processor with AVX2: pairs of products are added in 16 bits, with saturation,
if the inner dimension is a multiple of 32, except among the candidates of a shortlist.
"""

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint
from model.checkpoint.tensor_file import Quantized
from model.interop.npz.binary_format import read_binary
from model.interop.npz.network import matrix_names
from model.transformer.attention import MultiHeadAttention
from model.transformer.ssru import SSRU, RecurrentState
from model.transformer.transformer import Transformer

_LARGEST = 127
_REGISTER = 32
"""Bytes of a register of AVX2."""

Floats = NDArray[np.float32]


def _sum(terms: Floats) -> Floats:
    """Sum over the last dimension, from the first term to the last; […, n] → […, 1]."""
    return np.add.accumulate(terms, axis=-1)[..., -1:]


def _exp(x: Floats) -> Floats:
    """Return e^x rounded once, as the C library computes it."""
    return np.exp(x.astype(np.float64)).astype(np.float32)


class _Product(nn.Module):
    """y = u Σ A q + (b − 127 u Σ q), where A = round(x a) + 127 and u = 1 / (a m)."""

    def __init__(
        self, matrix: Quantized, alpha: float, bias: Tensor | None, *, saturates: bool
    ) -> None:
        super().__init__()
        self.in_features = matrix.codes.shape[1]
        self._codes = matrix.codes.astype(np.int32)
        self._alpha = np.float32(alpha)
        self._saturates = saturates
        self._scale = np.float32(1) / (self._alpha * np.float32(1 / matrix.scale))
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


class _Norm(nn.Module):
    """γ (x − mean) / σ + β."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self._gain, self._bias = (one.detach().numpy() for one in (norm.weight, norm.bias))
        self._epsilon = np.float32(norm.eps)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.numpy()
        width = np.float32(rows.shape[-1])
        centred = rows - _sum(rows) / width
        deviation = np.sqrt(_sum(centred * centred) / width + self._epsilon)
        return torch.from_numpy(self._gain * (centred / deviation) + self._bias)


class _SSRU(nn.Module):
    """`SSRU` with the sigmoid as it is defined."""

    def __init__(self, ssru: SSRU) -> None:
        super().__init__()
        self.w, self.w_f, self.start = ssru.w, ssru.w_f, ssru.start

    def forward(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """One position: x [R, 1, D]."""
        one = np.float32(1)
        forget = torch.from_numpy(one / (one + _exp(-self.w_f(x)[:, 0].numpy())))
        cell = forget * state.cell + (1 - forget) * self.w(x)[:, 0]
        return cell[:, None].relu(), RecurrentState(cell)


class _Embedding(nn.Module):
    """Rows of codes times the inverse of their multiplier, times √D."""

    def __init__(self, matrix: Quantized) -> None:
        super().__init__()
        codes = matrix.codes.astype(np.float32)
        scale = np.sqrt(np.float32(codes.shape[1]))
        rows = codes * (np.float32(1) / np.float32(1 / matrix.scale)) * scale
        self._rows = torch.from_numpy(np.pad(rows, ((0, 1), (0, 0))))  # the last is <pad>

    def forward(self, ids: Tensor) -> Tensor:
        return self._rows[ids]


def _attention(query: Tensor, key: Tensor, value: Tensor, **_: object) -> Tensor:
    """Return softmax(QKᵀ / √d_k) V of a single sentence, whose positions are all visible."""
    q, k, v = (one.numpy() for one in (query, key, value))
    scale = np.float32(1) / np.sqrt(np.float32(q.shape[-1]))
    scores = _sum(q[..., :, None, :] * k[..., None, :, :])[..., 0] * scale
    powers = _exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / _sum(powers)
    terms = weights[..., None, :] * v.swapaxes(-2, -1)[..., None, :, :]
    return torch.from_numpy(np.ascontiguousarray(_sum(terms)[..., 0]))


def _positions(length: int, width: int) -> Tensor:
    """Return [length, D] of sines, whose angles are rounded to float32."""
    half = width // 2
    columns = np.arange(width)
    exponents = (columns % half).astype(np.float32) / np.float32(half - 1)
    frequencies = (np.float32(1e-4).astype(np.float64) ** exponents).astype(np.float32)
    offsets = (columns // half).astype(np.float32) * np.float32(np.pi / 2)
    angles = np.arange(length, dtype=np.float32)[:, None] * frequencies + offsets
    return torch.from_numpy(np.sin(angles.astype(np.float64)).astype(np.float32))


def static_model(checkpoint: Checkpoint, path: Path) -> Transformer:
    """Return an imported model in 8 bits with the arithmetic of its file, read from `path`."""
    items = read_binary(path.read_bytes(), str(path)).items
    model = load_model(checkpoint)
    modules = dict(model.named_modules())

    def matrix(name: str) -> Quantized:
        found = items[name]
        assert isinstance(found, Quantized)
        return found

    def product(name: str, bias: Tensor | None, *, is_exact: bool = False) -> _Product:
        alpha = items[f"{name}_QuantMultA"]
        value = alpha.values if isinstance(alpha, Quantized) else alpha
        saturates = not is_exact and matrix(name).codes.shape[1] % _REGISTER == 0
        return _Product(matrix(name), float(value.item()), bias, saturates=saturates)

    for ours, theirs in matrix_names(checkpoint.config.transformer):
        parent, _, child = ours.removesuffix(".weight").rpartition(".")
        linear = modules[f"{parent}.{child}"]
        assert isinstance(linear, nn.Linear)
        setattr(modules[parent], child, product(theirs, linear.bias))
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if isinstance(module, nn.LayerNorm):
            setattr(modules[parent], child, _Norm(module))
        elif isinstance(module, SSRU):
            setattr(modules[parent], child, _SSRU(module))
        elif isinstance(module, MultiHeadAttention):
            module.fused_attention = _attention
    source, target = ("Wemb",) * 2 if "Wemb" in items else ("encoder_Wemb", "decoder_Wemb")
    model.source_embedding = _Embedding(matrix(source))  # type: ignore[assignment]
    model.target_embedding = _Embedding(matrix(target))  # type: ignore[assignment]
    model.positions.table = _positions(*model.positions.table.shape)
    # <pad>, whose row the file lacks, is never chosen.
    bias, n_pad = model.output.bias, 1
    assert bias is not None
    output = product(target, bias[:-n_pad], is_exact=checkpoint.shortlist is not None)
    model.output = nn.Sequential(output, nn.ConstantPad1d((0, n_pad), -torch.inf))  # type: ignore[assignment]
    return model
