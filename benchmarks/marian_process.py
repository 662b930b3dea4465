"""Marian itself, in a process of a Python that has `pymarian`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from benchmarks.system import Answer, Task

WORKER = Path(__file__).with_name("marian_worker.py")


class MarianProcess:
    """A context manager. Raises `RuntimeError` with Marian's own message if it ends."""

    def __init__(self, python: str) -> None:
        self._python = python
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start the process."""
        self._process = self._stack.enter_context(
            subprocess.Popen(
                [self._python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        )
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.kill()
        self._stack.close()

    def translate(self, options: str, calls: Sequence[str]) -> tuple[float, list[str]]:
        """Translate each text, of one or more lines → seconds, and what Marian prints for each.

        options  Marian's; the models of the last few options stay loaded
        """
        process = self._process
        assert process.stdin is not None  # noqa: S101  (pipes were asked for)
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(json.dumps({"options": options, "calls": calls}) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"pymarian ended; its options: {options}")
        found = json.loads(line)
        return found["seconds"], found["answers"]


@dataclass(frozen=True)
class Marian:
    """Marian as a `System`.

    model      options that name the model, its vocabularies and the type of its products
    pieces     by id, of attend's import; one vocabulary
    n_threads  each translates batches of its own; a sentence alone leaves nothing to a second one
    """

    process: MarianProcess
    name: str
    model: str
    pieces: Sequence[str]
    n_threads: int

    @property
    def threads(self) -> str:
        """As of `System`."""
        return f"{self.n_threads} × 1"

    def suits(self, task: Task) -> bool:  # noqa: ARG002
        """Always true: there is one configuration."""
        return True

    def answer(self, task: Task) -> Answer:
        """Give all lines at once, which Marian sorts by length, or one after the other."""
        lines = [" ".join(self.pieces[token] for token in ids[:-1]) for ids in task.sources]
        n_threads = self.n_threads if task.batch > 1 else 1
        options = (
            f"{self.model} --beam-size {task.options.beam_size} "
            f"--normalize {task.options.length_penalty} --cpu-threads {n_threads} "
            f"--mini-batch {task.batch} --maxi-batch {len(lines)} --maxi-batch-sort src"
        )
        seconds, answers = self.process.translate(
            options, lines if task.batch == 1 else ["\n".join(lines)]
        )
        id_of = {piece: index for index, piece in enumerate(self.pieces)}
        # Empty translations are empty lines, and there may be a newline behind the last.
        n_lines = len(lines) // len(answers)
        found = [line for answer in answers for line in answer.split("\n")[:n_lines]]
        targets = [tuple(id_of[piece] for piece in line.split()) for line in found]
        return Answer(seconds, targets, [True] * len(targets))
