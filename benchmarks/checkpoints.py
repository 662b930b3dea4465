"""The measured checkpoints, and the same weights in the formats of the peers.

All are in a work folder, under the checkpoint's digest, and are created once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import torch

from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.checkpoint.writer import save_checkpoint
from model.interop.huggingface_export import MARIAN, PEGASUS, export_huggingface
from model.training.random_checkpoint import write_random_checkpoint

DEFAULT_WORK = Path.home() / ".cache" / "attend-benchmarks"

NEVER = -1e4
"""A logit that is never chosen, within the range of float16."""


def random_checkpoint(preset: str, work: Path) -> Path:
    """Create a preset with random weights; its translations and their lengths are meaningless."""

    def write(folder: Path) -> None:
        write_random_checkpoint(folder, preset, ("en", "fr"))

    return made(work / f"random-{preset}", write)


def endless_checkpoint(folder: Path, work: Path) -> Path:
    """Copy the checkpoint with an output bias that excludes the end of sentence.

    Every search then runs to the token limit, which forces the same length on all systems.
    """
    loaded = load_checkpoint(folder)
    config, shape = loaded.config, loaded.config.transformer
    weights = {name: torch.from_numpy(array) for name, array in loaded.weights.items()}
    bias = weights.get("output.bias", torch.zeros(shape.target_vocab_size)).clone()
    bias[shape.eos_id] = NEVER
    weights["output.bias"] = bias
    shape = shape.model_copy(update={"output_bias": True})
    name = f"{config.name}-endless"

    def write(destination: Path) -> None:
        save_checkpoint(
            destination,
            config.model_copy(update={"name": name, "transformer": shape}),
            weights,
            loaded.tokenizer,
            f"# {name}\n\n{config.name} that never ends a sentence, for benchmarks.",
            {"made_from": config.name},
        )

    return made(work / f"endless-{loaded.digest[:16]}", write)


def huggingface_folder(checkpoint: Checkpoint, work: Path) -> Path:
    """Convert the checkpoint for `transformers`."""
    form = MARIAN if checkpoint.config.transformer.norm_order == "post" else PEGASUS

    def write(folder: Path) -> None:
        faults = export_huggingface(checkpoint.folder, folder, form)
        if faults:
            raise ValueError(f"CTranslate2 would convert it wrongly: {'; '.join(faults)}")

    return made(work / f"huggingface-{checkpoint.digest[:16]}", write)


def ctranslate2_folder(checkpoint: Checkpoint, work: Path) -> Path:
    """Convert the checkpoint for CTranslate2: float32, which it quantises on loading."""
    from ctranslate2.converters import TransformersConverter

    source = huggingface_folder(checkpoint, work)

    def write(folder: Path) -> None:
        TransformersConverter(str(source)).convert(str(folder))

    return made(work / f"ctranslate2-{checkpoint.digest[:16]}", write)


def made(folder: Path, write: Callable[[Path], None]) -> Path:
    """Return the folder, after writing it atomically if it is missing."""
    if not folder.exists():
        unfinished = folder.parent / ".unfinished"  # keeps the name, which the model adopts
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        write(unfinished / folder.name)
        (unfinished / folder.name).rename(folder)
        unfinished.rmdir()
    return folder
