"""Run folders: recipe.json, tokenizer.model, log.jsonl, the newest state, the last snapshots.

If the run started from a checkpoint, also init.json and origin.json, its configuration. The
vocabulary may instead be the files of an imported Marian model.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from model.checkpoint.config import CheckpointConfig
from model.checkpoint.reader import Checkpoint
from model.errors import DataError, LanguageError, TrainingError
from model.text.marian_tokenizer import MarianTokenizer
from model.text.text_codec import TrainingCodec
from model.text.tokenizer import Tokenizer
from model.training.config import FROM_VOCABULARY, TrainingConfig
from model.training.corpora import existing, read_corpora, read_held_out
from model.training.data.batches import BatchStream, Corpus
from model.training.data.filters import FilterCounts
from model.training.data.vocabulary import train_tokenizer
from model.training.log import LOG_FILE, cut_log
from model.training.snapshots import SNAPSHOTS
from model.training.state import latest_state
from model.training.trainer import Reporter, Trainer
from model.training.update.processes import ALONE, Processes
from model.training.warm_start import WarmStart
from model.transformer.config import describe_validation

RECIPE_FILE = "recipe.json"
TOKENIZER_FILE = "tokenizer.model"
INIT_FILE = "init.json"
ORIGIN_FILE = "origin.json"

_CHANGEABLE = {
    "schedule", "validation", "accumulate", "save_every", "average_last", "store", "precision",
    "loss_candidates",
}  # fmt: skip
"""Keys that may differ when a run is resumed; all others change the data or the model."""


def read_vocabulary(run: Path) -> TrainingCodec:
    """Read the vocabulary of a run. Raises `ModelError`."""
    origin = origin_config(run)
    if origin and origin.marian_vocabulary:
        symbols = origin.marian_vocabulary.target_symbols
        return MarianTokenizer.load(run, symbols, separate=origin.marian_vocabulary.separate)
    return Tokenizer.load(run / TOKENIZER_FILE)


def origin_config(run: Path) -> CheckpointConfig | None:
    """Return the configuration of the checkpoint whose vocabulary the run has.

    None if the vocabulary was learnt or given. Raises `TrainingError`.
    """
    path = run / ORIGIN_FILE
    try:
        return CheckpointConfig.model_validate_json(path.read_text())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise TrainingError(f"{path}: {describe_validation(error)}") from None
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: {error}") from None


def open_run(
    config: TrainingConfig,
    run: Path,
    corpora_root: Path,
    reporter: Reporter,
    device: torch.device,
    *,
    resume: bool,
    workers: int = 0,
    init: WarmStart | None = None,
    processes: Processes = ALONE,
) -> Trainer:
    """Create or reopen a run folder and load its data. Raises `ModelError`.

    A folder with a saved state is modified only with `resume`, and only if the recipe is the same
    except for its length and measurements. A run that stopped before its first save starts over.
    With `init`, the run starts from the weights of a checkpoint.
    """
    if processes.count > config.accumulate:
        raise TrainingError(
            f"an update has {config.accumulate} batches (accumulate), too few for "
            f"{processes.count} processes"
        )
    if not processes.is_first:
        pass  # the first process checks
    elif resume:
        check_recipe(run, config)
    elif latest_state(run):
        raise TrainingError(f"{run}: already has a run; continue it with --resume")
    corpora, counts = read_corpora(config, corpora_root)
    held_out = read_held_out(config, corpora_root)
    if processes.is_first:
        try:
            if not latest_state(run):
                _initialise(run, config, corpora, corpora_root, init)
            (run / RECIPE_FILE).write_text(config.model_dump_json(indent=2))
        except OSError as error:
            raise TrainingError(f"{run}: {error.strerror}") from None
    processes.wait()
    tokenizer = read_vocabulary(run)
    stream = BatchStream(
        corpora=corpora,
        directions=config.all_directions,
        tokenizer=tokenizer,
        noise=config.noise,
        seed=config.seed,
        chunk_pairs=config.chunk_pairs,
        batch_tokens=config.batch_tokens,
        max_length=config.max_length,
        sampling=config.tokenizer.sampling,
    )
    if processes.is_first:
        _report_corpora(config, stream, counts, reporter, starts=not latest_state(run))
    trainer = Trainer(
        config, run, tokenizer, stream, held_out, reporter, device, workers, processes
    )
    if init and not latest_state(run):
        init.fill(trainer.model, tokenizer)
    if processes.is_first:
        cut_log(run / LOG_FILE, trainer.counters.step)
    return trainer


def _report_corpora(
    config: TrainingConfig,
    stream: BatchStream,
    all_counts: Sequence[FilterCounts],
    reporter: Reporter,
    *,
    starts: bool,
) -> None:
    """Report the pairs of each corpus. Raises `DataError` if a corpus has no pair that fits.

    Long pairs are counted only when a run starts, because this takes time.
    """
    for settings, corpus, counts in zip(config.corpora, stream.corpora, all_counts, strict=True):
        if starts:
            counts.max_length = stream.n_too_long(corpus)
            counts.kept -= counts.max_length
        reporter.on_corpus(settings.name, counts)
        if not counts.kept:
            raise DataError(f"corpus '{settings.name}': {counts}")


def initial_shape(run: Path, origin: Checkpoint | None) -> dict[str, Any] | None:
    """Return `[model]` of the checkpoint that a run starts from, or that a saved run started from.

    None if the run starts from random weights.
    """
    if origin:
        return origin.config.transformer.model_dump(exclude=set(FROM_VOCABULARY))
    if not ((run / INIT_FILE).exists() and latest_state(run)):
        return None
    with suppress(OSError, ValueError):  # `check_recipe` reports a damaged file
        recorded: dict[str, Any] = json.loads((run / RECIPE_FILE).read_text())["model"]
        return recorded
    return None


def check_recipe(run: Path, config: TrainingConfig) -> None:
    """Raise `TrainingError` unless `config` can continue the recipe of `run`."""
    path = run / RECIPE_FILE
    try:
        before = TrainingConfig.parse(json.loads(path.read_text()), str(path))
    except FileNotFoundError:
        raise TrainingError(f"{run}: contains no run") from None
    except (OSError, ValueError) as error:
        raise TrainingError(f"{path}: {error}") from None
    old, new = (recipe.model_dump(exclude=_CHANGEABLE) for recipe in (before, config))
    if not config.tokenizer.vocab_size:  # the run has its vocabulary
        del old["tokenizer"]["vocab_size"], new["tokenizer"]["vocab_size"]
    if changed := list(_differences(old, new)):
        raise TrainingError(
            f"{path}: the run was started with another {', '.join(changed)}; "
            f"use the same recipe or another run folder"
        )


def _differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of keys whose values differ."""
    for key in dict.fromkeys((*old, *new)):
        before, now = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{prefix}{key}.")
        elif before != now:
            yield prefix + key


def _initialise(
    run: Path, config: TrainingConfig, corpora: Sequence[Corpus], root: Path, init: WarmStart | None
) -> None:
    """Clear the remains of an attempt that never saved, and learn or copy the vocabulary."""
    run.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(run / SNAPSHOTS, ignore_errors=True)
    (run / LOG_FILE).unlink(missing_ok=True)
    for file in (INIT_FILE, ORIGIN_FILE):
        (run / file).unlink(missing_ok=True)
    languages = sorted({target for _, target in config.all_directions})
    tags = sorted({corpus.tag for corpus in config.corpora} - {""})
    if init:
        name, digest = init.origin.config.name, init.origin.digest
        provenance = {"name": name, "digest": digest, "adapted": init.adapt}
        (run / INIT_FILE).write_text(json.dumps(provenance, indent=2))
        if taken := init.vocabulary(config):
            check_vocabulary(taken, languages, tags, str(init.origin.folder))
            files = init.origin.tokenizer.files
            if isinstance(init.origin.tokenizer, Tokenizer):
                files = {TOKENIZER_FILE: init.origin.tokenizer.serialized}
            for file, content in files.items():
                (run / file).write_bytes(content)
            (run / ORIGIN_FILE).write_text(init.origin.config.model_dump_json(indent=2))
            return
    if config.tokenizer.file:
        (given,) = existing([config.tokenizer.file], root)
        check_vocabulary(Tokenizer.load(given), languages, tags, str(given))
        shutil.copyfile(given, run / TOKENIZER_FILE)
        return
    sentences = (
        sentence
        for corpus in corpora
        for pair in corpus.pairs[: config.tokenizer.sentences]
        for sentence in pair
    )
    train_tokenizer(
        sentences,
        languages,
        config.vocab_size,
        run / TOKENIZER_FILE,
        kind=config.tokenizer.kind,
        tags=tags,
    )


def check_vocabulary(
    tokenizer: TrainingCodec, languages: Sequence[str], tags: Sequence[str], origin: str
) -> None:
    """Raise `TrainingError` unless the vocabulary has a symbol for each language and tag."""
    try:
        for language in languages:
            for tag in ("", *tags):
                tokenizer.source_symbols(language, tag)
    except LanguageError as error:
        raise TrainingError(f"{origin}: {error}") from None
