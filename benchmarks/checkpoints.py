"""The weights of a checkpoint in the formats of the peers, written once to a work folder."""

import shutil
from collections.abc import Callable
from pathlib import Path

from model.checkpoint.reader import Checkpoint
from model.interop.huggingface_export import MARIAN, PEGASUS, export_huggingface

DEFAULT_WORK = Path.home() / ".cache" / "attend-benchmarks"


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
