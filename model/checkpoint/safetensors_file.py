"""Opens safetensors files, with one-line errors for defective ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from safetensors import SafetensorError, safe_open

from model.errors import CheckpointError


@contextmanager
def open_safetensors(path: Path, framework: Literal["numpy", "pt"]) -> Iterator[Any]:
    """Open a file with `safe_open`. Raises `CheckpointError`, also for errors while it is open."""
    try:
        path.open("rb").close()  # safetensors reports any OS error as a missing file
        with safe_open(path, framework=framework) as file:
            yield file
    except SafetensorError as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{path}: damaged or not a safetensors file: {reason}") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None
