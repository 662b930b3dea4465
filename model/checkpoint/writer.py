"""Writes checkpoint folders atomically."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from model.alignment.from_attention import AlignmentMethod
from model.checkpoint.checksums import write_checksums
from model.checkpoint.config import (
    CARD_FILE,
    CONFIG_FILE,
    TRAINING_FILE,
    WEIGHTS_FILE,
    CheckpointConfig,
    read_config,
    write_text,
)
from model.checkpoint.golden import GoldenSentence, write_golden
from model.checkpoint.shortlist_file import SHORTLIST_FILE
from model.errors import CheckpointError
from model.text.text_codec import TextCodec
from model.transformer.config import describe_validation

_TYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int8: "I8",
}  # fmt: skip
_ALIGNMENT = 8


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write floating-point and int8 tensors by name, holding one if `tensors` are read on access.

    The format is that of https://github.com/huggingface/safetensors: the header's length in 8
    bytes, the header as JSON, the data. The widest types come first, so that every tensor begins at
    a multiple of its type's size.
    """
    facts = {name: (tensor.dtype, list(tensor.shape)) for name, tensor in tensors.items()}
    names = sorted(facts, key=lambda name: (-facts[name][0].itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name in names:
        kind, shape = facts[name]
        start, end = end, end + kind.itemsize * torch.Size(shape).numel()
        header[name] = {"dtype": _TYPES[kind], "shape": shape, "data_offsets": [start, end]}
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    written += b" " * (-len(written) % _ALIGNMENT)
    with path.open("wb") as file:
        file.write(len(written).to_bytes(8, "little"))
        file.write(written)
        for name in names:
            data = tensors[name].detach().cpu().contiguous().flatten()
            file.write(data.view(torch.uint8).numpy().data)


def save_checkpoint(  # noqa: PLR0917  (the parts of the folder, in its order)
    folder: Path,
    config: CheckpointConfig,
    weights: Mapping[str, Tensor],
    tokenizer: TextCodec,
    card: str,
    training: Mapping[str, Any],
    golden: Sequence[GoldenSentence] = (),
    shortlist: bytes | None = None,
) -> None:
    """Write a folder atomically; an existing checkpoint is replaced at the end.

    `weights` are a `Transformer`'s parameters by name, shared ones once, in any floating type.
    Raises `CheckpointError` if the path exists and is not a checkpoint.
    """
    folder = folder.resolve()
    if folder.exists() and not _is_replaceable(folder):
        raise CheckpointError(f"{folder}: exists and is not a checkpoint; not overwritten")
    partial = folder.with_name(f".{folder.name}.partial")
    replaced = folder.with_name(f".{folder.name}.replaced")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        write_text(partial / CONFIG_FILE, config.model_dump_json(indent=2))
        write_tensors(partial / WEIGHTS_FILE, weights)
        for name, content in tokenizer.files.items():
            (partial / name).write_bytes(content)
        write_text(partial / CARD_FILE, card)
        write_text(partial / TRAINING_FILE, json.dumps(training, indent=2, ensure_ascii=False))
        parts = [WEIGHTS_FILE, *tokenizer.files]
        if shortlist is not None:
            (partial / SHORTLIST_FILE).write_bytes(shortlist)
            parts.append(SHORTLIST_FILE)
        write_checksums(partial, parts)
        if golden:
            write_golden(partial, golden)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
    if folder.exists():
        folder.rename(replaced)
    partial.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def record_alignment(folder: Path, method: AlignmentMethod) -> None:
    """Record the alignment method in a checkpoint's configuration, which changes its digest.

    Raises `CheckpointError` for a folder that is not a checkpoint or a method it does not support.
    """
    values = read_config(folder).model_dump(mode="json") | {"alignment": method.model_dump()}
    try:
        config = CheckpointConfig.model_validate_json(json.dumps(values))
    except ValidationError as error:
        raise CheckpointError(f"{folder}: {describe_validation(error)}") from None
    write_text(folder / CONFIG_FILE, config.model_dump_json(indent=2))


def check_new_folder(folder: Path) -> None:
    """Raise `CheckpointError` unless the path is missing or an empty folder."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise CheckpointError(f"{folder}: exists and is not an empty folder; not overwritten")


def _is_replaceable(folder: Path) -> bool:
    return folder.is_dir() and ((folder / CONFIG_FILE).is_file() or not any(folder.iterdir()))
