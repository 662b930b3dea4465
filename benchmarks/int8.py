"""How far int8 is from float32: attend's and CTranslate2's, on the same weights and sentences.

python -m benchmarks.int8 --checkpoint checkpoints/en-fr --count 200

Each system translates in both precisions, by the same search. Its float32 translations are the
reference of its int8 ones: the share of equal sentences, and chrF between them. Neither says which
is better; for that, `attend evaluate --precision` has references by people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from sacrebleu.metrics.chrf import CHRF

from benchmarks.checkpoints import random_checkpoint
from benchmarks.decode import natural_sources
from benchmarks.options import (
    benchmark,
    checkpoint_option,
    json_option,
    peers_option,
    random_option,
    sentences_option,
    threads_option,
    work_option,
)
from benchmarks.ours import Attend
from benchmarks.report import Cell, Report, publish
from benchmarks.sentences import read_sentences
from benchmarks.system import System, Task
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines

BATCH = 16
COLUMNS = {"System": "", "Beam": "d", "Sentences": "d", "equal": ".1%", "chrF": ".1f"}
NOTES = ("equal and chrF: int8 against float32 of the same system; chrF of equal texts is 100.",)


@dataclass(frozen=True)
class Likeness:
    """How alike int8 translations and those in float32 are.

    equal  share of sentences, 0 … 1
    chrf   0 … 100
    """

    equal: float
    chrf: float

    @classmethod
    def between(cls, int8: Sequence[str], float32: Sequence[str]) -> Likeness:
        """Compare texts of the same sentences."""
        same = sum(one == other for one, other in zip(int8, float32, strict=True))
        return cls(same / len(float32), CHRF().corpus_score(list(int8), [list(float32)]).score)


@benchmark
@checkpoint_option
@random_option
@sentences_option
@click.option("--count", type=click.IntRange(1), default=192)
@click.option("--beam", "beams", type=click.IntRange(1), multiple=True, default=(1, 4))
@click.option("--max-tokens", type=click.IntRange(1), help="Target tokens of a sentence at most.")
@threads_option
@peers_option
@work_option
@json_option
def main(
    *,
    checkpoint: Path,
    preset: str | None,
    sentences: Path,
    count: int,
    beams: Sequence[int],
    max_tokens: int | None,
    threads: int,
    peers: bool,
    work: Path,
    json_file: Path | None,
) -> None:
    """Compare translations in int8 with those in float32."""
    loaded = load_checkpoint(random_checkpoint(preset, work) if preset else checkpoint)
    texts = read_sentences(sentences, count)
    sources = natural_sources(loaded, texts)
    pairs: list[tuple[str, System, System]] = [
        (
            "attend",
            Attend(build_engines(loaded, "int8", threads)),
            Attend(build_engines(loaded, "fp32", threads)),
        )
    ]
    if peers:
        from benchmarks.peers import CTranslate2

        int8_peer, float32_peer = (
            CTranslate2.of(loaded, work, kind, inter_threads=threads, intra_threads=1)
            for kind in ("int8", "float32")
        )
        pairs.append(("CTranslate2", int8_peer, float32_peer))
    rows: list[dict[str, object]] = []
    for beam in beams:
        options = SearchOptions(
            beam,
            length_penalty=loaded.config.length_penalty,
            max_target_tokens=max_tokens,
            rule=loaded.config.search_rule,
        )
        task = Task(sources, options, BATCH)
        for name, *systems in pairs:
            int8, float32 = (
                [loaded.tokenizer.decode(ids) for ids in system.answer(task).targets]
                for system in systems
            )
            found = Likeness.between(int8, float32)
            rows.append(
                {
                    "System": name,
                    "Beam": beam,
                    "Sentences": len(texts),
                    "equal": found.equal,
                    "chrF": found.chrf,
                }
            )
    settings: dict[str, Cell] = {"checkpoint": loaded.config.name, "sentences": sentences.name}
    title = f"int8 against float32: {loaded.config.name}"
    publish(Report("int8", title, settings, COLUMNS, rows, NOTES), json_file)


if __name__ == "__main__":
    main()
