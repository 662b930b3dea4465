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
from benchmarks.marian_process import Marian, MarianProcess
from benchmarks.natural import lengths_of_sentences
from benchmarks.options import benchmark, json_option, rounds_option, threads_option, work_option
from benchmarks.ours import Attend
from benchmarks.peers import CTranslate2
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
GEMM_TYPES = ("packed8avx512", "packed8avx2")
"""Marian's int8 by FBGEMM, which it packs on loading."""


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


def ctranslate2_peers(folder: Path, checkpoint: Checkpoint, threads: int) -> Iterator[System]:
    """Yield CTranslate2 in each distribution of its threads that may be the fastest."""
    tokenizer = checkpoint.tokenizer
    pieces = [tokenizer.piece(index) for index in range(tokenizer.target_vocab_size)]
    for inter, intra in sorted({(1, threads), (1, 1), (threads, 1)}):
        yield CTranslate2(
            converted(folder), pieces, "int8", inter_threads=inter, intra_threads=intra
        )


def marian_peers(
    folder: Path, checkpoint: Checkpoint, threads: int, process: MarianProcess
) -> Iterator[System]:
    """Yield Marian in float32 and in each of its types of int8."""
    tokenizer = checkpoint.tokenizer
    assert isinstance(tokenizer, MarianTokenizer)  # noqa: S101  (of an imported Marian)
    theirs = (folder / "theirs").resolve()
    vocabulary = theirs / "opus.vocab.yml"
    model = f"--models {theirs / 'model.npz'} --vocabs {vocabulary} {vocabulary}"
    types = {"float32": "", **{kind: f"--optimize --gemm-type {kind}" for kind in GEMM_TYPES}}
    for kind, flags in types.items():
        for n_threads in sorted({1, threads}):
            name = f"Marian {kind}"
            yield Marian(process, name, f"{model} {flags}", tokenizer.target_pieces, n_threads)


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
    with ExitStack() as stack:
        if kind != MARIAN:
            systems += ctranslate2_peers(folder, checkpoint, threads)
        elif python:
            process = stack.enter_context(MarianProcess(python))
            systems += marian_peers(folder, checkpoint, threads, process)
        for beam, batch in product(beams, batches):
            options = SearchOptions(
                beam,
                length_penalty=checkpoint.config.length_penalty,
                rule=checkpoint.config.search_rule,
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
