"""A run folder: recipe.json, tokenizer.model, log.jsonl, the newest state, the last snapshots."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import torch

from model.errors import DataError, TrainingError
from model.tokenizer import Tokenizer
from model.training.batches import BatchStream, Corpus
from model.training.config import TrainingConfig
from model.training.corpus import load_pairs, read_pairs
from model.training.state import latest_state
from model.training.trainer import Reporter, Trainer
from model.training.validation import HeldOut
from model.training.vocabulary import train_tokenizer

RECIPE_FILE = "recipe.json"
TOKENIZER_FILE = "tokenizer.model"
LOG_FILE = "log.jsonl"

_CHANGEABLE = frozenset(
    {"schedule", "validation", "accumulate", "save_every", "average_last", "precision"}
)
"""What may differ when a run is resumed; all else would change the data or the model."""


def open_run(
    config: TrainingConfig,
    run: Path,
    corpora_root: Path,
    reporter: Reporter,
    device: torch.device,
    *,
    resume: bool,
    workers: int = 0,
) -> Trainer:
    """Make or reopen a run folder and load its data. Raises `ModelError`.

    A folder with a saved state is only touched with `resume`, and only if the recipe is the same
    but for its length and measurements.
    """
    if (run / RECIPE_FILE).exists():
        if not resume and latest_state(run):
            raise TrainingError(f"{run}: already has a run; --resume goes on with it")
        _check_same(run / RECIPE_FILE, config)
    elif resume:
        raise TrainingError(f"{run}: no run to resume")
    run.mkdir(parents=True, exist_ok=True)
    (run / RECIPE_FILE).write_text(config.model_dump_json(indent=2))
    tokenizer = _tokenizer(config, run, corpora_root)
    corpora = tuple(
        Corpus(corpus.languages, load_pairs(_files(corpus.files, corpora_root)), corpus.weight)
        for corpus in config.corpora
    )
    stream = BatchStream(
        corpora=corpora,
        directions=config.all_directions,
        tokenizer=tokenizer,
        noise=config.noise,
        seed=config.seed,
        chunk_pairs=config.chunk_pairs,
        batch_tokens=config.batch_tokens,
        max_length=config.max_length,
    )
    held_out = _held_out(config, corpora_root)
    return Trainer(config, run, tokenizer, stream, held_out, reporter, device, workers)


def _check_same(path: Path, config: TrainingConfig) -> None:
    before = json.loads(path.read_text())
    now = json.loads(config.model_dump_json())
    changed = [key for key in now if key not in _CHANGEABLE and before.get(key) != now[key]]
    if changed:
        raise TrainingError(
            f"{path}: the run was begun with another {', '.join(changed)}; "
            f"use the same recipe or another run folder"
        )


def _files(files: list[Path], root: Path) -> list[Path]:
    found = [root / file for file in files]
    for path in found:
        if not path.is_file():
            raise DataError(f"{path}: no such file; --corpora names the folder it is in")
    return found


def _tokenizer(config: TrainingConfig, run: Path, corpora_root: Path) -> Tokenizer:
    path = run / TOKENIZER_FILE
    if not path.exists():
        languages = sorted({target for _, target in config.all_directions})
        sentences = itertools.chain.from_iterable(
            pair
            for corpus in config.corpora
            for pair in itertools.islice(
                itertools.chain.from_iterable(map(read_pairs, _files(corpus.files, corpora_root))),
                config.tokenizer.sentences,
            )
        )
        train_tokenizer(sentences, languages, config.tokenizer.vocab_size, path)
    return Tokenizer.load(path)


def _held_out(config: TrainingConfig, root: Path) -> list[HeldOut]:
    settings = config.validation
    sets = []
    for name, file in settings.files.items():
        pairs = load_pairs(_files([file], root))[: settings.loss_pairs]
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        source, target = settings.languages
        if (source, target) in config.all_directions:
            sets.append(HeldOut(name, target, first, second))
        if (target, source) in config.all_directions:
            sets.append(HeldOut(name, source, second, first))
    return sets
