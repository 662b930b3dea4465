"""Decoding speed of multilingual models, compared with CTranslate2's own conversion.

python -m benchmarks.imported nllb-200-distilled-600M

The models have random weights and the real shapes, and end their sentences by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.checkpoints import made
from benchmarks.decode import COLUMNS, NOTES, Batches, batch_options
from benchmarks.foreign import MULTILINGUAL, Multilingual, write_multilingual
from benchmarks.natural import lengths_of_sentences
from benchmarks.options import benchmark, json_option, rounds_option, threads_option, work_option
from benchmarks.ours import Attend
from benchmarks.peers import BEYOND_SOURCE, CTranslate2
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.system import Ids, System
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.interop.marian_import import import_m2m100

TARGET = "fr"


def written(name: str, kind: Multilingual, n: int, n_fitted: int, work: Path) -> Path:
    """Write the model, its import as `ours`, and its sources, once → their folder."""
    sizes = lengths_of_sentences(read_sentences(FIXTURE, n))
    pair = ("__en__", "__fr__") if kind.listed else ("eng_Latn", "fra_Latn")

    def write(folder: Path) -> None:
        sources = write_multilingual(folder / "theirs", kind, sizes, n_fitted, pair)
        import_m2m100(folder / "theirs", folder / "ours", name)
        (folder / "sources.json").write_text(json.dumps(sources), "utf-8")

    return made(work / f"imported-{name}", write)


def ctranslate2_peers(folder: Path, threads: int) -> Sequence[CTranslate2]:
    """Return CTranslate2 in int8: one thread for single sentences, one worker per thread else."""
    from ctranslate2.converters import TransformersConverter

    def write(destination: Path) -> None:
        converter = TransformersConverter(str(folder / "theirs"))
        converter.convert(str(destination), quantization="int8")

    model = made(folder / "ctranslate2", write)
    # Without a tokenizer.json, the converter names languages in its own way.
    pieces = json.loads((model / "shared_vocabulary.json").read_text("utf-8"))
    return [
        CTranslate2(model, pieces, "int8", inter_threads=workers, intra_threads=1)
        for workers in sorted({1, threads})
    ]


@benchmark
@click.argument("name", metavar="MODEL", type=click.Choice(list(MULTILINGUAL)))
@batch_options
@click.option("--fitted", type=click.IntRange(8), default=96, help="Sentences for the lengths.")
@rounds_option(3)
@threads_option
@work_option
@json_option
def main(
    *,
    name: str,
    batches: Batches,
    fitted: int,
    rounds: int,
    threads: int,
    work: Path,
    json_file: Path | None,
) -> None:
    """Compare attend's int8 with CTranslate2's."""
    n = max(batches.most(threads), 2 * fitted)
    folder = written(name, MULTILINGUAL[name], n, fitted, work)
    checkpoint = load_checkpoint(folder / "ours")
    sources: list[Ids] = [tuple(ids) for ids in json.loads((folder / "sources.json").read_text())]
    systems: list[System] = [Attend(build_engines(checkpoint, "int8", threads))]
    systems += ctranslate2_peers(folder, threads)
    options = SearchOptions(
        length_penalty=checkpoint.config.length_penalty,
        rule=checkpoint.config.search_rule,
        max_target_tokens=max(map(len, sources)) + BEYOND_SOURCE,
        first_id=checkpoint.tokenizer.first_id(TARGET),
    )
    rows = list(batches.rows(systems, sources, options, rounds, threads))
    settings: dict[str, Cell] = {
        "checkpoint": checkpoint.config.name,
        "sentences": batches.count,
        "batches of each thread": batches.batches_each,
        "rounds": rounds,
        "threads": threads,
    }
    title = f"Decoding, imported: {checkpoint.config.name}, natural lengths"
    publish(Report("imported", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
