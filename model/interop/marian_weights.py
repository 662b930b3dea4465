"""Reads the tensors of a Marian folder in Hugging Face format, without executing code."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoint.safetensors_file import open_safetensors
from model.errors import CheckpointError
from model.interop import key_map
from model.transformer.config import TransformerConfig
from model.transformer.positions import sinusoidal_positions

SAFE_FILE = "model.safetensors"
PICKLE_FILE = "pytorch_model.bin"

_SHOWN = 3
_HALF_PRECISION = 1e-3
"""More than the rounding error of float16 for −1 … 1."""


@dataclass(frozen=True)
class Embeddings:
    """The embedding and output matrices; the tensors determine which are shared.

    source, target and output are [V, D], bias [V] or None.
    """

    source: Tensor
    target: Tensor
    output: Tensor
    bias: Tensor | None

    @property
    def shared(self) -> bool:
        """Source and target have one embedding."""
        return _same(self.source, self.target)

    @property
    def tied(self) -> bool:
        """The output projection is the target embedding."""
        return _same(self.output, self.target)


def weights_file(folder: Path) -> Path:
    """Return the file with the tensors. Raises `CheckpointError` if there is none."""
    for name in (SAFE_FILE, PICKLE_FILE):
        if (folder / name).exists():
            return folder / name
    raise CheckpointError(f"{folder}: neither {SAFE_FILE} nor {PICKLE_FILE}")


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Read tensors by name. Raises `CheckpointError`."""
    with open_safetensors(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read tensors by name. Raises `CheckpointError`."""
    if path.name == SAFE_FILE:
        return read_safetensors(path)
    try:
        tensors = torch.load(
            path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
        )
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    except Exception as error:  # malicious or truncated files can cause any exception
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CheckpointError(f"{path}: not a file of plain tensors ({reason})") from None
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in tensors.items()
    ):
        raise CheckpointError(f"{path}: not a dictionary of tensors by name")
    return dict(tensors)


def embeddings(path: Path, tensors: Mapping[str, Tensor], *, tie: bool, share: bool) -> Embeddings:
    """Return the matrices that `transformers` would use, given what config.json declares as shared.

    Raises `CheckpointError` if one is missing, or if two that are declared as shared differ, since
    it could use either.
    """

    def first(*names: str) -> Tensor:
        for name in names:
            if name in tensors:
                return tensors[name]
        raise CheckpointError(f"{path}: tensor '{names[0]}' is missing")

    source = first(key_map.SOURCE, key_map.SHARED)
    target = first(key_map.TARGET, key_map.SHARED)
    output = first(key_map.OUTPUT, key_map.TARGET, key_map.SHARED)
    bias = tensors.get(key_map.OUTPUT_BIAS)
    found = Embeddings(source, target, output, _used(bias))
    if tie and not found.tied:
        raise CheckpointError(
            f"{path}: the output is declared as tied to the embedding, but differs"
        )
    if tie and share and not found.shared:
        raise CheckpointError(f"{path}: the embeddings are declared as shared, but differ")
    return found


def renamed(
    path: Path, tensors: Mapping[str, Tensor], config: TransformerConfig, found: Embeddings
) -> dict[str, Tensor]:
    """Rename tensors, shared ones once. Raises `CheckpointError` for unexpected ones."""
    names = dict(key_map.layer_names(config)) | dict(key_map.final_norm_names(config))
    check_names(path, tensors, list(names.values()), key_map.OUTSIDE_LAYERS)
    _check_positions(path, tensors, config)
    weights = {"source_embedding.weight": found.source}
    if not config.share_embeddings:
        weights["target_embedding.weight"] = found.target
    weights |= {ours: tensors[theirs] for ours, theirs in names.items()}
    if not config.tie_output:
        weights["output.weight"] = found.output
    if found.bias is not None:
        weights["output.bias"] = found.bias
    return weights


def check_names(
    path: Path, found: Collection[str], required: Sequence[str], optional: Collection[str]
) -> None:
    """Raise `CheckpointError` for missing or unknown tensors."""
    missing = [name for name in required if name not in found]
    unknown = sorted({*found} - {*required, *optional})
    for reason, odd in (("missing", missing), ("unknown", unknown)):
        if odd:
            more = f" and {len(odd) - _SHOWN} more" if len(odd) > _SHOWN else ""
            shown = ", ".join(map(repr, odd[:_SHOWN]))
            raise CheckpointError(f"{path}: {reason} tensors {shown}{more}")


def _check_positions(path: Path, tensors: Mapping[str, Tensor], config: TransformerConfig) -> None:
    """Check that stored positions equal the sinusoids, which are computed here."""
    for name in key_map.POSITIONS:
        if name not in tensors:
            continue
        table = tensors[name].float()
        n_positions = table.shape[0] if table.dim() else 0
        wanted = torch.from_numpy(sinusoidal_positions(n_positions, config.d_model, "halves"))
        if table.shape != wanted.shape or not torch.allclose(
            table, wanted, rtol=0, atol=_HALF_PRECISION
        ):
            raise CheckpointError(f"{path}: '{name}' does not hold sinusoids, sines first")


def _used(bias: Tensor | None) -> Tensor | None:
    """Return the bias [1, V] as [V], or None if all its values are zero."""
    return bias.flatten() if bias is not None and bias.any() else None


def _same(a: Tensor, b: Tensor) -> bool:
    return a is b or (a.shape == b.shape and torch.equal(a, b))
