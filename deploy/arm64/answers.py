"""Prints what the shipped checkpoint answers, to the last bit, so that machines can be compared.

python deploy/arm64/answers.py SENTENCES N [CHECKPOINT]

Translates the first N lines, beam 4, int8. Prints the instruction of the products, then the
token ids of each sentence and its score in hexadecimal, then, to standard error, the
seconds. Only the kernels that this needs are compiled.
"""

import sys
import time
from itertools import islice
from pathlib import Path

import click

from app.shipped import SHIPPED_CHECKPOINT
from model.checkpoint.reader import load_checkpoint
from model.decoding.hypothesis import SearchOptions
from model.engine.build import build_engines
from model.engine.cpu.kernels.instructions import INSTRUCTION
from model.engine.protocol import Job
from model.engine.run import run_jobs


def main(sentences: str, n: str, checkpoint: str = str(SHIPPED_CHECKPOINT)) -> None:
    """Translate in the checkpoint's first direction."""
    loaded = load_checkpoint(Path(checkpoint))
    source, target = loaded.config.directions[0]
    options = SearchOptions(beam_size=4, length_penalty=loaded.config.length_penalty)
    with Path(sentences).open(encoding="utf-8") as lines:
        texts = [line.split("\t")[0].strip() for line in islice(lines, int(n))]
    ids = [tuple(loaded.tokenizer.source_ids(one, target, source)) for one in texts]
    jobs = [Job(index, one, options) for index, one in enumerate(ids)]
    engines = build_engines(loaded, "int8")
    click.echo(INSTRUCTION.name)
    for run in ("compiled", "translated"):
        began = time.monotonic()
        found = dict(run_jobs(engines, jobs[:1] if run == "compiled" else jobs))
        click.echo(f"{run} in {time.monotonic() - began:.1f} s", err=True)
    for index in range(len(jobs)):
        outcome = found[index]
        if isinstance(outcome, Exception):
            raise outcome
        click.echo(" ".join([*map(str, outcome[0].ids), outcome[0].score.hex()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
