"""Reads what a recipe names: corpora through their filters, and held-out pairs."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from model.errors import DataError
from model.training.config import TrainingConfig
from model.training.data.batches import Corpus
from model.training.data.corpus import CorpusConfig, Files, read_corpus
from model.training.data.filters import FilterCounts, PairFilter, in_other_language
from model.training.data.written_numbers import generate_pairs
from model.training.validation import HeldOut

_HELD_OUT_SEED = 1_000_003
"""Added to the seed of a recipe for generated sentences that are held out."""


def read_corpora(
    config: TrainingConfig, root: Path
) -> tuple[tuple[Corpus, ...], list[FilterCounts]]:
    """Read and filter all corpora; count the pairs of each. Raises `DataError`."""
    filters = PairFilter(config.filters, _held_out_sentences(config, root))
    corpora, all_counts = [], []
    for corpus in config.corpora:
        counts = FilterCounts()
        pairs = _pairs(corpus, config, root, filters, counts)
        if not pairs:
            raise DataError(f"corpus '{corpus.name}': {counts}")
        corpora.append(
            Corpus(corpus.languages, pairs, corpus.weight, frozenset(corpus.directions), corpus.tag)
        )
        all_counts.append(counts)
    return tuple(corpora), all_counts


def _held_out_sentences(config: TrainingConfig, root: Path) -> frozenset[str]:
    """Return both sides of all validation pairs, if a filter needs them."""
    if not config.filters.held_out:
        return frozenset()
    sets = config.validation.files.values()
    return frozenset(
        itertools.chain.from_iterable(
            pair for files in sets for pair in _read(files, config.validation.languages, root)
        )
    )


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
    read = itertools.chain.from_iterable(
        [_read(files, corpus.languages, root) for files in corpus.files]
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


def _read(files: Files, languages: tuple[str, str], root: Path) -> Iterator[tuple[str, str]]:
    """Open the files under `root`, which must exist, and return their pairs."""
    if isinstance(files, Path):
        (file,) = existing([files], root)
        return read_corpus(file, languages)
    first, second = existing(files, root)
    return read_corpus((first, second), languages)


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
    for name, files in settings.files.items():
        read = _read(files, settings.languages, root)
        pairs = [pair for pair in read if all(pair)][: settings.loss_pairs]
        if not pairs:
            raise DataError(f"validation.files.{name}: no pairs")
        sets += _both_ways(config, name, pairs, settings.languages)
    if settings.written_numbers:
        pairs = generate_pairs(settings.written_numbers, config.seed + _HELD_OUT_SEED)
        sets += _both_ways(config, "written_numbers", pairs, ("en", "fr"), is_exact=True)
    return sets


def _both_ways(
    config: TrainingConfig,
    name: str,
    pairs: Sequence[tuple[str, str]],
    languages: tuple[str, str],
    *,
    is_exact: bool = False,
) -> list[HeldOut]:
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    source, target = languages
    sets = {
        (source, target): HeldOut(name, target, first, second, is_exact),
        (target, source): HeldOut(name, source, second, first, is_exact),
    }
    return [one for direction, one in sets.items() if direction in config.all_directions]
