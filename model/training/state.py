"""The state to resume a run exactly, on disk: tensors and JSON, no pickles."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from model.errors import TrainingError, reason
from model.training.data.batches import START, Position
from model.training.update.optimizer import Optimizer
from model.transformer.transformer import Transformer

WEIGHTS_FILE = "model.safetensors"
OPTIMIZER_FILE = "optimizer.safetensors"
COUNTERS_FILE = "counters.json"

_PREFIX = "state-"
_PARTIAL = ".partial"
_GENERATORS = "rng."
"""Prefix of random generators in states of attend 0.2; each batch now seeds them."""


@dataclass
class Counters:
    """A run's progress.

    tokens   target tokens so far
    seconds  training time
    best     best validation figure so far, smaller is better (BLEU is negated)
    stale    measurements since then
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    position: Position = START
    best: float | None = None
    stale: int = 0


def latest_state(run: Path) -> Path | None:
    """Return the folder of the newest complete state in a run folder."""
    return max(_complete(run), key=step_of, default=None)


def _complete(run: Path) -> list[Path]:
    """Return the folders of complete states, without copies of them under other names."""
    found = run.glob(f"{_PREFIX}*")
    return [path for path in found if path.name.removeprefix(_PREFIX).isdecimal()]


def step_of(state: Path) -> int:
    """Return the step after which a state was saved."""
    return int(state.name.removeprefix(_PREFIX))


def save_state(
    run: Path,
    model: Transformer,
    optimizer: Optimizer,
    counters: Counters,
    more: Callable[[Path], None] = lambda _: None,
) -> None:
    """Write a complete new state, then remove older ones: a crash at any point loses nothing.

    `more` writes further files into the new folder. An existing state of the same step is kept.
    Raises `TrainingError`.
    """
    folder = run / f"{_PREFIX}{counters.step:08}"
    if folder.exists():
        return
    partial = folder.with_suffix(_PARTIAL)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        save_file(parameters(model), partial / WEIGHTS_FILE)
        save_file(optimizer.state_tensors(), partial / OPTIMIZER_FILE)
        more(partial)
        (partial / COUNTERS_FILE).write_text(json.dumps(asdict(counters)))
        for file in partial.iterdir():
            _flush(file)
        partial.rename(folder)
        _flush(run)
    except (OSError, SafetensorError) as error:
        raise TrainingError(f"{partial}: cannot save: {reason(error)}") from None
    for other in (*_complete(run), *run.glob(f"{_PREFIX}*{_PARTIAL}")):
        if other != folder:
            shutil.rmtree(other)


def load_state(folder: Path, model: Transformer, optimizer: Optimizer) -> Counters:
    """Restore a saved state. Raises `TrainingError`."""
    counters = load_counters(folder)
    weights = load_tensors(folder / WEIGHTS_FILE)
    tensors = load_tensors(folder / OPTIMIZER_FILE)
    tensors = {name: t for name, t in tensors.items() if not name.startswith(_GENERATORS)}
    if odd := weights.keys() ^ parameters(model).keys():
        raise TrainingError(
            f"{folder / WEIGHTS_FILE}: '{min(odd)}' is only in the file or only in the model"
        )
    try:
        # Not strict: a shared tensor has two names in the model and one in the file.
        model.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise TrainingError(f"{folder}: cannot resume: {reason(error)}") from None
    try:
        optimizer.load_state_tensors(tensors)
    except TrainingError as error:
        raise TrainingError(f"{folder / OPTIMIZER_FILE}: {error}") from None
    return counters


def load_counters(folder: Path) -> Counters:
    """Read the progress of a saved state. Raises `TrainingError`."""
    path = folder / COUNTERS_FILE
    try:
        values = json.loads(path.read_text())
        return Counters(**values | {"position": Position(*values["position"])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TrainingError(f"{path}: cannot resume: {reason(error)}") from None


def parameters(model: Transformer) -> dict[str, Tensor]:
    """Return the model's tensors by name, shared ones once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read a file of saved tensors. Raises `TrainingError`."""
    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise TrainingError(f"{path}: cannot be read: {str(error).splitlines()[0]}") from None


def _flush(path: Path) -> None:
    """Sync a file or folder to disk, so that a power failure cannot undo a rename."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
