"""Whether models in Marian's own format answer as in Marian itself: n-best lists, ids and scores.

Small random models are written, imported, and searched by the reference engine and by the CPU
engine in float32. Ends with exit code 1 if one differs, but for what is known to.

    python -m benchmarks.marian --python /path/to/a/python/with/pymarian
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from benchmarks.marian_process import MarianProcess
from benchmarks.options import benchmark, json_option
from benchmarks.report import Cell, Report, publish
from model.checkpoint.pretrained import load_model
from model.checkpoint.reader import Checkpoint, load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Job
from model.engine.run import run_jobs
from model.interop.languages_said import Languages
from model.interop.marian_import import import_marian
from model.text.marian_tokenizer import MarianTokenizer
from tests.marian_npz import NEWEST, npz_of, write_npz_folder

MODELS: dict[str, dict[str, Any]] = {
    "one embedding": {"seed": 2},
    "the same of other weights": {"seed": 7},
    "relu": {"transformer-ffn-activation": "relu", "seed": 1},
    "relu, three layers": {"transformer-ffn-activation": "relu", "dec-depth": 3, "enc-depth": 1},
    "gelu": {"transformer-ffn-activation": "gelu", "seed": 3},
    "gelu, a wider decoder": {
        "transformer-ffn-activation": "gelu",
        "transformer-decoder-dim-ffn": 64,
        "seed": 4,
    },
    "swish, four layers": {"enc-depth": 4, "dec-depth": 4, "seed": 5},
    "separate vocabularies": {"separate": True, "seed": 1},
    "separate, one longer": {"separate": True, "longer_target": True, "seed": 2},
    "separate and untied": {"separate": True, "tie": False, "seed": 6},
    "untied, shared": {"tie": False, "seed": 3},
    "untied, as older versions write it": {"tie": False, "legacy_output": True, "seed": 8},
    "no bias": {"bias": False, "output-omit-bias": True, "seed": 9},
    "two heads": {"transformer-heads": 2, "seed": 10},
    "eight heads, gelu": {
        "transformer-heads": 8,
        "transformer-ffn-activation": "gelu",
        "seed": 11,
    },
    "pre-norm": {"pre_norm": True, "seed": 2},
}
UNLIKE = {"pre-norm"}
"""Marian decodes these in a way that they were not trained in; see docs/interop.md."""

BEAMS = (1, 4, 6)
TOLERANCE = 1e-4
FRENCH = Languages(("en",), ("fr",))

NBest = Sequence[tuple[str, float]]
"""Pieces with blanks between, and the score, best first."""


@dataclass(frozen=True)
class Agreement:
    """Over some sentences; `largest` is of the scores in lists that are the same.

    best   sentences with the same best hypothesis
    lists  sentences with the same n-best list
    """

    sentences: int
    best: int
    lists: int
    largest: float

    @classmethod
    def between(cls, ours: Sequence[NBest], theirs: Sequence[NBest]) -> Agreement:
        """Compare lists for the same sentences."""
        pairs = list(zip(ours, theirs, strict=True))
        same = [(a, b) for a, b in pairs if [text for text, _ in a] == [text for text, _ in b]]
        differences = [abs(x - y) for a, b in same for (_, x), (_, y) in zip(a, b, strict=True)]
        best = sum(a[0][0] == b[0][0] for a, b in pairs)
        return cls(len(pairs), best, len(same), max(differences, default=0.0))

    @property
    def whole(self) -> bool:
        """Whether all are the same, with scores within rounding, but for one list.

        Two tokens at the edge of the beam may be equally probable within rounding.
        """
        is_same = self.best == self.sentences and self.lists >= self.sentences - 1
        return is_same and self.largest <= TOLERANCE


def compare(
    process: MarianProcess, folder: Path, name: str, n_sentences: int
) -> dict[tuple[str, int], Agreement]:
    """One of `MODELS`, made in `folder`: by engine and beam."""
    options = MODELS[name]
    names = ("src", "trg") if options.get("separate") else ("", "")
    vocabularies = [
        str(folder / "theirs" / f"opus.{side}.vocab.yml".replace("..", ".")) for side in names
    ]
    write_npz_folder(folder / "theirs", version=NEWEST, vocabs=vocabularies, **options)
    import_marian(folder / "theirs", folder / "ours", languages=FRENCH)
    checkpoint = load_checkpoint(folder / "ours")
    tokenizer = MarianTokenizer.load(folder / "ours", {}, separate="separate" in options)
    sources = _draw(tokenizer, n_sentences)
    pieces = tokenizer.source_pieces
    model = (
        f"--models {npz_of(folder / 'theirs')} --vocabs {' '.join(vocabularies)} "
        f"--normalize {checkpoint.config.length_penalty} --n-best"
    )
    sentences = [" ".join(pieces[token] for token in ids[:-1]) for ids in sources]
    theirs = {beam: _their_n_best(process, model, sentences, beam) for beam in BEAMS}
    engines: dict[str, Engine] = {
        "reference": EagerEngine(load_model(checkpoint)),
        "cpu": build_engines(checkpoint, "fp32")[0],
    }
    return {
        (engine_name, beam): Agreement.between(
            _n_best(engine, checkpoint, tokenizer, sources, beam), theirs[beam]
        )
        for engine_name, engine in engines.items()
        for beam in BEAMS
    }


def _their_n_best(
    process: MarianProcess, model: str, sentences: Sequence[str], beam: int
) -> list[NBest]:
    # One sentence a batch: the token limit is that of the longest in a batch.
    alone = "--cpu-threads 1 --mini-batch 1 --maxi-batch 1"
    _, answers = process.translate(f"{model} --beam-size {beam} {alone}", sentences)
    lists: list[NBest] = []
    for answer in answers:
        columns = [line.split(" ||| ") for line in answer.splitlines()]
        lists.append([(pieces, float(score)) for _, pieces, _, score in columns])
    return lists


def _draw(tokenizer: MarianTokenizer, n: int) -> list[tuple[int, ...]]:
    choose = random.Random(5)
    eos_id = tokenizer.eos_id
    words = [
        token
        for token in range(tokenizer.source_vocab_size)
        if token not in (tokenizer.pad_id, eos_id) and not tokenizer.is_unknown(token)
    ]
    return [(*choose.choices(words, k=choose.randint(1, 12)), eos_id) for _ in range(n)]


def _n_best(
    engine: Engine,
    checkpoint: Checkpoint,
    tokenizer: MarianTokenizer,
    sources: Sequence[tuple[int, ...]],
    beam: int,
) -> list[NBest]:
    config = checkpoint.config
    options = SearchOptions(beam, beam, config.length_penalty, rule=config.search_rule)
    jobs = [Job(number, ids, options) for number, ids in enumerate(sources)]
    found = dict(run_jobs([engine], jobs))
    lists: list[NBest] = []
    for job in jobs:
        outcome = found[job.id]
        if isinstance(outcome, Exception):
            raise outcome
        lists.append(
            [(" ".join(tokenizer.target_pieces[i] for i in one.ids), one.score) for one in outcome]
        )
    return lists


def row(name: str, engine: str, found: Mapping[int, Agreement]) -> dict[str, Cell]:
    """For the table."""
    cells: dict[str, Cell] = {"Model": name, "Engine": engine}
    for beam, agreement in found.items():
        cells[f"Beam {beam}: best"] = agreement.best
        cells[f"Beam {beam}: list"] = agreement.lists
    cells["Scores apart"] = max(agreement.largest for agreement in found.values())
    return cells


@benchmark
@click.option("--python", default=sys.executable, show_default="this one", help="With `pymarian`.")
@click.option("--count", type=click.IntRange(1), default=50, help="Of each.")
@json_option
def main(*, python: str, count: int, json_file: Path | None) -> None:
    """Compare each model's n-best lists at beam 1, 4 and 6."""
    rows, exact = [], True
    for name in MODELS:
        with TemporaryDirectory() as folder, MarianProcess(python) as process:
            found = compare(process, Path(folder), name, count)
        exact &= name in UNLIKE or all(agreement.whole for agreement in found.values())
        for engine in dict.fromkeys(engine for engine, _ in found):
            of_engine = {beam: found[engine, beam] for beam in BEAMS}
            rows.append(row(name, engine, of_engine))
    columns = dict.fromkeys(rows[0], ",d") | {"Model": "", "Engine": "", "Scores apart": ".1e"}
    settings: dict[str, Cell] = {"sentences of each": count, "precision": "float32"}
    publish(Report("marian", "Marian's own answers", settings, columns, rows), json_file)
    sys.exit(0 if exact else 1)


if __name__ == "__main__":
    main()
