"""Reads the tensors of a folder in Hugging Face format, without executing code.

Files are mapped into memory: a tensor takes memory only while it is in use.
"""

import pickle  # for its error
import zipfile
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from model.checkpoint.tensor_file import LazyTensors, open_safetensors, start_of
from model.errors import CheckpointError, damaged
from model.interop.huggingface.config_files import read_object

SAFE_FILE = "model.safetensors"
PICKLE_FILE = "pytorch_model.bin"
INDEX_SUFFIX = ".index.json"

SAFE_FILES = (SAFE_FILE, f"{SAFE_FILE}{INDEX_SUFFIX}", "model-*-of-*.safetensors")
PICKLE_FILES = (PICKLE_FILE, f"{PICKLE_FILE}{INDEX_SUFFIX}", "pytorch_model-*-of-*.bin")
"""Patterns of a folder's files; the first kind is preferred, as in `transformers`."""


def weights_file(folder: Path) -> Path:
    """Return the file with the tensors, or the index of its shards.

    Raises `CheckpointError` if there is none.
    """
    for name in (*SAFE_FILES[:2], *PICKLE_FILES[:2]):
        if (folder / name).exists():
            return folder / name
    unsupported = [
        path.name
        for pattern in (
            "*.safetensors",
            "*.bin",
            "*.h5",
            "*.msgpack",
            "*.gguf",
            "*.onnx",
            "onnx/*.onnx",
        )
        for path in sorted(folder.glob(pattern))
    ]
    others = f" (there is {unsupported[0]})" if unsupported else ""
    raise CheckpointError(
        f"{folder}: neither {SAFE_FILE} nor {PICKLE_FILE}, in one piece or in shards with an "
        f"index{others}"
    )


def read_tensors(path: Path) -> Mapping[str, Tensor]:
    """Read tensors by name from what `weights_file` found. Raises `CheckpointError`."""
    if path.name.endswith(INDEX_SUFFIX):
        return _sharded(path)
    if path.suffix != ".safetensors":
        return _read_pickle(path)

    def read(name: str) -> Tensor:
        with open_safetensors(path, "pt") as file:
            tensor: Tensor = file.get_tensor(name)
        return tensor

    with open_safetensors(path, "pt") as file:
        return LazyTensors(file.keys(), read)


def _sharded(index: Path) -> Mapping[str, Tensor]:
    shard_of = read_object(index).get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise CheckpointError(f"{index}: 'weight_map' must be an object of tensors and their files")
    suffix = Path(index.name.removesuffix(INDEX_SUFFIX)).suffix
    for name in dict.fromkeys(shard_of.values()):
        if not isinstance(name, str) or Path(name).name != name or Path(name).suffix != suffix:
            raise CheckpointError(
                f"{index}: 'weight_map' names {name!r}, not a file *{suffix} of the folder"
            )
    shards = {name: read_tensors(index.parent / name) for name in dict.fromkeys(shard_of.values())}
    for name, shard in shard_of.items():
        if name not in shards[shard]:
            raise CheckpointError(f"{index.parent / shard}: tensor '{name}' is missing")
    return LazyTensors(shard_of, lambda name: shards[shard_of[name]][name])


def _read_pickle(path: Path) -> dict[str, Tensor]:
    try:
        tensors = torch.load(
            path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path)
        )
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    except pickle.UnpicklingError:  # whose message advises to load it anyway
        raise damaged(
            path,
            start_of(path),
            "not a file of plain tensors: it contains other Python objects, which could execute "
            f"code, or is damaged; attend reads {SAFE_FILE}, or tensors alone",
        ) from None
    except Exception as error:  # malicious or truncated files can cause any exception
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise CheckpointError(f"{path}: not a file of plain tensors ({reason})") from None
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in tensors.items()
    ):
        raise CheckpointError(f"{path}: not a dictionary of tensors by name")
    return dict(tensors)
