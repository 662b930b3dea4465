"""Resident memory of a process that has an engine alone; `benchmarks.memory --engine` runs it.

Reads JSON from the standard input and writes bytes, one line each: when the model is loaded, after
one sentence, and after all. Imports nothing else, so that only the engine's memory counts.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BATCH = 64


def attend(folder: str, sources: list[list[int]], threads: int, beam: int) -> Iterator[None]:
    """Yield after each stage."""
    from model.checkpoint.reader import load_checkpoint
    from model.decoding.hypothesis import SearchOptions
    from model.engine.build import build_engines
    from model.engine.protocol import Job
    from model.engine.run import run_jobs

    engines = build_engines(load_checkpoint(Path(folder)), "int8", threads)
    yield
    options = SearchOptions(beam_size=beam)
    jobs = [Job(number, tuple(ids), options) for number, ids in enumerate(sources)]
    for some in (jobs[:1], jobs):
        list(run_jobs(engines, some))
        yield


def ctranslate2(folder: str, sources: list[list[str]], threads: int, beam: int) -> Iterator[None]:
    """Yield after each stage."""
    from ctranslate2 import Translator

    translator: Any = Translator(
        folder, compute_type="int8", inter_threads=threads, intra_threads=1
    )
    yield
    for some in (sources[:1], sources):
        translator.translate_batch(some, beam_size=beam, max_batch_size=BATCH)
        yield


SYSTEMS: dict[str, Callable[..., Iterator[None]]] = {"attend": attend, "ctranslate2": ctranslate2}


def main() -> None:
    """Run the system that the first argument names."""
    for _ in SYSTEMS[sys.argv[1]](**json.load(sys.stdin)):
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
        sys.stdout.write(f"{pages * os.sysconf('SC_PAGE_SIZE')}\n")


if __name__ == "__main__":
    main()
