"""Reads what a recipe names: corpora through their filters, and held-out pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from model.errors import DataError
from model.training.config import TrainingConfig
from model.training.data.batches import Corpus
from model.training.data.config import CorpusConfig
from model.training.data.corpus import Files, read_corpus
from model.training.data.filters import FilterCounts, PairFilter
from model.training.data.languages import in_other_language
from model.training.data.written_numbers import generate_pairs
from model.training.trainer import Reporter
from model.training.validation import HeldOut


def read_corpora(config: TrainingConfig, root: Path, reporter: Reporter) -> tuple[Corpus, ...]:
    """Read and filter all corpora, and report what was dropped. Raises `DataError`."""
    filters = PairFilter(config.filters)
    corpora = []
    for corpus in config.corpora:
        counts = FilterCounts()
        pairs = _pairs(corpus, config, root, filters, counts)
        reporter.on_corpus(corpus.name, counts)
        if not pairs:
            raise DataError(f"corpus '{corpus.name}': {counts}")
        corpora.append(
            Corpus(corpus.languages, pairs, corpus.weight, frozenset(corpus.directions), corpus.tag)
        )
    return tuple(corpora)


def _pairs(
    corpus: CorpusConfig,
    config: TrainingConfig,
    root: Path,
    filters: PairFilter,
    counts: FilterCounts,
) -> list[tuple[str, str]]:
    if corpus.written_numbers:
        pairs = generate_pairs(corpus.written_numbers, config.seed)
        counts.read = counts.kept = len(pairs)
        return pairs
    for files in corpus.files:
        existing([files] if isinstance(files, Path) else files, root)
    read = itertools.chain.from_iterable(
        read_corpus(_under(root, files), corpus.languages) for files in corpus.files
    )
    pairs = filters.keep(read, counts)
    if config.filters.language:
        swapped = in_other_language(pairs, corpus.languages)
        pairs = [pair for pair, is_swapped in zip(pairs, swapped, strict=True) if not is_swapped]
        counts.language = sum(swapped)
        counts.kept = len(pairs)
    if config.straight_apostrophes:
        pairs = [(first.replace("’", "'"), second.replace("’", "'")) for first, second in pairs]
    return pairs


def _under(root: Path, files: Files) -> Files:
    if isinstance(files, Path):
        return root / files
    return root / files[0], root / files[1]


def existing(files: Iterable[Path], root: Path) -> list[Path]:
    """Return the paths under `root`. Raises `DataError` unless all are files."""
    found = [root / file for file in files]
    for path in found:
        if not path.is_file():
            raise DataError(f"{path}: no such file; set its folder with --corpora")
    return found


def read_held_out(config: TrainingConfig, root: Path) -> list[HeldOut]:
    """Read the first pairs of each validation file, in each trained direction."""
    settings = config.validation
    sets = []
    for name, file in settings.files.items():
        existing([file] if isinstance(file, Path) else file, root)
        read = read_corpus(_under(root, file), settings.languages)
        pairs = [pair for pair in read if all(pair)][: settings.loss_pairs]
        if not pairs:
            raise DataError(f"validation.files.{name}: no pairs")
        first, second = ([pair[side] for pair in pairs] for side in (0, 1))
        source, target = settings.languages
        if (source, target) in config.all_directions:
            sets.append(HeldOut(name, target, first, second))
        if (target, source) in config.all_directions:
            sets.append(HeldOut(name, source, second, first))
    return sets
