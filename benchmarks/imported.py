"""Decoding speed of imported models, beside the projects that they come from.

python -m benchmarks.imported nllb-200-distilled-600M          beside CTranslate2's conversion
python -m benchmarks.imported marian --python /path/to/python  beside Marian itself

The models are random, of real shapes, and end their sentences by themselves (`benchmarks.foreign`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import click

from benchmarks.checkpoints import made
from benchmarks.decode import COLUMNS, NOTES, best_of_each, measure, n_sentences, rows_of
from benchmarks.foreign import MULTILINGUAL, Foreign, write_marian, write_multilingual
from benchmarks.marian_int8 import quantise
from benchmarks.marian_process import Marian, MarianProcess
from benchmarks.natural import lengths_of_sentences
from benchmarks.options import benchmark, json_option, rounds_option, threads_option, work_option
from benchmarks.ours import Attend
from benchmarks.peers import BEYOND_SOURCE, CTranslate2
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.system import Ids, System, Task
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.interop.languages_said import Languages
from model.interop.marian_import import import_m2m100, import_marian
from model.text.marian_tokenizer import MarianTokenizer

MARIAN = "marian"
SOURCE, TARGET = "en", "fr"
PACKED_TYPES = ("packed8avx512", "packed8avx2")
"""Marian's int8 by FBGEMM, packed on loading."""


def written(kind: str, *, preset: str, vocabulary: int, n: int, fitted: int, work: Path) -> Path:
    """Write the model, its import as `ours`, and its sources, once → the folder of all."""
    sizes = lengths_of_sentences(read_sentences(FIXTURE, n))
    name = f"{kind}-{preset}-{vocabulary}" if kind == MARIAN else kind

    def write(folder: Path) -> None:
        if kind == MARIAN:
            foreign = write_marian(folder / "theirs", preset, vocabulary, sizes, fitted)
            import_marian(foreign.folder, folder / "ours", name, Languages((SOURCE,), (TARGET,)))
        else:
            shape = MULTILINGUAL[kind]
            pair = ("__en__", "__fr__") if shape.listed else ("eng_Latn", "fra_Latn")
            foreign = write_multilingual(folder / "theirs", shape, sizes, fitted, pair)
            import_m2m100(foreign.folder, folder / "ours", name)
        _write_sources(folder, foreign)

    return made(work / f"imported-{name}", write)


def _write_sources(folder: Path, foreign: Foreign) -> None:
    seen = foreign.seen
    click.echo(
        f"greedy translations have {seen.ratio:.2f} × the source's tokens, {seen.deviation:.1f} "
        f"apart on average; {seen.ended:.0%} end"
    )
    (folder / "sources.json").write_text(json.dumps(foreign.sources), "utf-8")


def converted(folder: Path) -> Path:
    """Convert for CTranslate2, in int8, once."""
    from ctranslate2.converters import TransformersConverter

    def write(destination: Path) -> None:
        converter = TransformersConverter(str(folder / "theirs"))
        converter.convert(str(destination), quantization="int8")

    return made(folder / "ctranslate2", write)


class Alone(CTranslate2):
    """For sentences alone."""

    def suits(self, task: Task) -> bool:
        """Whether they are."""
        return task.batch == 1


class Together(CTranslate2):
    """For batches."""

    def suits(self, task: Task) -> bool:
        """Whether there are any."""
        return task.batch > 1


def ctranslate2_peers(folder: Path, threads: int) -> Iterator[System]:
    """Yield CTranslate2 with one thread for sentences alone, and with a worker for each thread."""
    model = converted(folder)
    # By its own names of the ids: languages have others where there is no tokenizer.json.
    pieces = json.loads((model / "shared_vocabulary.json").read_text("utf-8"))
    for kind, workers in ((Alone, 1), (Together, threads)):
        yield kind(model, pieces, "int8", inter_threads=workers, intra_threads=1)


def marian_peers(
    folder: Path, checkpoint: Checkpoint, threads: int, process: MarianProcess
) -> Iterator[System]:
    """Yield Marian in each of its types of int8."""
    tokenizer = checkpoint.tokenizer
    assert isinstance(tokenizer, MarianTokenizer)  # noqa: S101  (of an imported Marian)
    theirs = (folder / "theirs").resolve()
    vocabulary = theirs / "opus.vocab.yml"
    vocabularies = f"--vocabs {vocabulary} {vocabulary}"
    models = {
        kind: f"{theirs / 'model.npz'} --optimize --gemm-type {kind}" for kind in PACKED_TYPES
    }
    models["intgemm8"] = str(quantised(theirs))
    for kind, model in models.items():
        options = f"--models {model} {vocabularies}"
        yield Marian(process, f"Marian {kind}", options, tokenizer.target_pieces, threads)


def quantised(theirs: Path) -> Path:
    """Quantise Marian's model for intgemm, once."""
    model = theirs / "model.bin"
    if not model.exists():
        quantise(theirs / "model.npz", model)
    return model


@benchmark
@click.argument("kind", type=click.Choice([MARIAN, *MULTILINGUAL]))
@click.option("--preset", default="base", help="Shape of a Marian model.")
@click.option("--vocabulary", type=click.IntRange(512), default=32_000, help="Marian's pieces.")
@click.option("--python", help="Python that has `pymarian`.")
@click.option("--count", type=click.IntRange(1), default=192, help="As in `benchmarks.decode`.")
@click.option("--batches-each", type=click.IntRange(1), default=8, help="Batches per thread.")
@click.option("--batch", "batches", type=click.IntRange(1), multiple=True, default=(1, 16, 64))
@click.option("--beam", "beams", type=click.IntRange(1), multiple=True, default=(1, 4))
@click.option("--fitted", type=click.IntRange(8), default=96, help="Sentences for the lengths.")
@rounds_option(3)
@threads_option
@work_option
@json_option
def main(
    *,
    kind: str,
    preset: str,
    vocabulary: int,
    python: str | None,
    count: int,
    batches_each: int,
    batches: Sequence[int],
    beams: Sequence[int],
    fitted: int,
    rounds: int,
    threads: int,
    work: Path,
    json_file: Path | None,
) -> None:
    """Compare attend's int8 with that of the project whose format a random model has."""
    n_batches = batches_each * threads
    most = max(n_sentences(count, batch, n_batches) for batch in batches)
    folder = written(
        kind,
        preset=preset,
        vocabulary=vocabulary,
        n=max(most, 2 * fitted),
        fitted=fitted,
        work=work,
    )
    checkpoint = load_checkpoint(folder / "ours")
    sources: list[Ids] = [tuple(ids) for ids in json.loads((folder / "sources.json").read_text())]
    systems: list[System] = [Attend(build_engines(checkpoint, "int8", threads))]
    rows: list[dict[str, object]] = []
    # Marian's limit is part of its rule; CTranslate2 has none of the checkpoint's.
    limit = None if kind == MARIAN else max(map(len, sources)) + BEYOND_SOURCE
    with ExitStack() as stack:
        if kind != MARIAN:
            systems += ctranslate2_peers(folder, threads)
        elif python:
            process = stack.enter_context(MarianProcess(python))
            systems += marian_peers(folder, checkpoint, threads, process)
        for beam, batch in product(beams, batches):
            options = SearchOptions(
                beam,
                length_penalty=checkpoint.config.length_penalty,
                rule=checkpoint.config.search_rule,
                max_target_tokens=limit,
                first_id=checkpoint.tokenizer.first_id(TARGET),
            )
            n = n_sentences(count, batch, n_batches)
            task = Task((sources * -(-n // len(sources)))[:n], options, batch)
            rows += rows_of(task, best_of_each(measure(systems, task, rounds)))
    settings: dict[str, Cell] = {
        "checkpoint": checkpoint.config.name,
        "sentences": count,
        "batches of each thread": batches_each,
        "rounds": rounds,
        "threads": threads,
    }
    title = f"Decoding, imported: {checkpoint.config.name}, natural lengths"
    publish(Report("imported", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
