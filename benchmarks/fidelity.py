"""How much int8 changes translations: attend's and CTranslate2's, each compared with its float32.

python -m benchmarks.fidelity --sentences flores.dev.tsv --sentences tatoeba.dev.tsv
"""

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from sacrebleu.metrics.chrf import CHRF

from benchmarks.checkpoints import DEFAULT_WORK
from benchmarks.decode import natural_sources
from benchmarks.options import (
    beam_option,
    benchmark,
    checkpoint_option,
    json_option,
    peers_option,
    threads_option,
)
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import FIXTURE, read_sentences
from benchmarks.system import Attend, System, Task
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines

BATCH = 32
COLUMNS = {"Sentences": "", "System": "", "Equal": ".1%", "chrF": ".1f"}
NOTES = (
    "`Equal`: sentences of which int8 gives the same tokens as float32 of the same system. `chrF`: "
    "of all int8 translations, with those in float32 as the references.",
)


def pairs_of_systems(
    checkpoint: Checkpoint, work: Path, threads: int, peers: bool
) -> Iterator[tuple[System, System]]:
    """Yield each system in int8 and in float32."""
    int8, float32 = (
        Attend(build_engines(checkpoint, one, threads)) for one in ("int8", "fp32")
    )  # fmt: skip
    yield int8, float32
    if peers:
        from benchmarks.peers import CTranslate2

        one, other = (
            CTranslate2.of(checkpoint, work, kind, inter_threads=threads, intra_threads=1)
            for kind in ("int8", "float32")
        )
        yield one, other


def row_of(
    checkpoint: Checkpoint, task: Task, name: str, systems: tuple[System, System]
) -> dict[str, Cell]:
    """Compare the answers of a system in int8 with those in float32."""
    found, expected = (system.answer(task).targets for system in systems)
    texts, references = (
        [checkpoint.tokenizer.decode(ids) for ids in targets] for targets in (found, expected)
    )
    return {
        "Sentences": name,
        "System": systems[0].name,
        "Equal": statistics.fmean(x == y for x, y in zip(found, expected, strict=True)),
        "chrF": CHRF().corpus_score(texts, [references]).score,
    }


@benchmark
@checkpoint_option
@click.option(
    "--sentences", "files", type=click.Path(path_type=Path), multiple=True, default=(FIXTURE,),
    show_default="48 included sentences", help="Files to translate, their first columns.",
)  # fmt: skip
@click.option("--count", type=click.IntRange(1), default=500, help="Sentences per file.")
@threads_option
@beam_option
@peers_option
@click.option("--work", type=click.Path(path_type=Path), default=DEFAULT_WORK)
@json_option
def main(
    *,
    checkpoint: Path,
    files: Sequence[Path],
    count: int,
    threads: int,
    beam: int,
    peers: bool,
    work: Path,
    json_file: Path | None,
) -> None:
    """Compare int8 with float32."""
    loaded = load_checkpoint(checkpoint)
    options = SearchOptions(
        beam_size=beam, length_penalty=loaded.config.length_penalty, rule=loaded.config.search_rule
    )
    rows = []
    for systems in pairs_of_systems(loaded, work, threads, peers):
        for file in files:
            sources = natural_sources(loaded, read_sentences(file)[:count])
            rows.append(row_of(loaded, Task(sources, options, BATCH), file.name, systems))
    settings: dict[str, Cell] = {"beam": beam, "count": count, "threads": threads}
    title = f"int8 beside float32: {loaded.config.name}"
    publish(Report("fidelity", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
