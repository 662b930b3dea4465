"""The interface between scheduling and tensors. Imports no torch, so that fakes need none.

A scheduler admits jobs, calls `step` as long as the engine is busy, and hands out what each step
finishes. An engine may finish a whole batch within one step, or advance every sentence by one
token and let jobs join and leave in between: the scheduler cannot tell and need not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.explanations import Explanations

PrecisionChoice = Literal["auto", "int8", "fp32", "bf16", "fp16"]


@dataclass(frozen=True, slots=True)
class Job:
    """One sentence to translate.

    id          unique among the jobs in an engine
    source_ids  what the encoder reads: target-language symbol, pieces, end of sentence
    stream      whether to report its certain prefix before it is finished
    """

    id: int
    source_ids: tuple[int, ...]
    options: SearchOptions
    stream: bool = False


class Progress(NamedTuple):
    """The certain prefix of a job: its best hypothesis will begin with these ids."""

    job_id: int
    ids: list[int]


class Finished(NamedTuple):
    """The outcome of a job: its n best hypotheses, best first, or its error."""

    job_id: int
    outcome: list[Hypothesis] | Exception


@dataclass(frozen=True)
class EngineInfo:
    """Where and how the model runs, for users.

    engine  "cpu", this project's kernels; "torch", any device of torch; or "reference", the paper's
            modules
    """

    engine: str
    device: str
    precision: str
    threads: int


class EngineMemory(NamedTuple):
    """Bytes that an engine holds now; those of the weights are counted by each that shares them."""

    weights: int
    work: int


class Engine(Explanations, Protocol):
    """Translates sentences, and explains them one at a time (`explanations`).

    Called from one thread at a time, except `interrupt`.
    """

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""

    @property
    def memory(self) -> EngineMemory:
        """The memory that it holds now. Cheap, and from any thread."""

    def room(self, job: Job) -> bool:
        """Whether there is room for a job now, beside those admitted. Cheap.

        An engine without jobs has room for any.
        """

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs; cheap, since work starts with the next step.

        An exception means that none of these was admitted; others are not affected.
        """

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs; they are not reported as finished. Unknown ids are ignored."""

    def step(self) -> list[Finished]:
        """Advance the jobs admitted and return those that ended. Does nothing when there are none.

        It may run until a job ends. Once one has, or `interrupt` is or was called since the last
        step, it returns within milliseconds. While a job streams, a step is one token.

        An error that concerns single jobs is their outcome; an exception means that every job
        admitted is lost and the engine is empty and ready again.
        """

    def progress(self) -> list[Progress]:
        """Return the unfinished streaming jobs of which more is certain than before.

        Called after a step. A job's prefix only grows; it may stay empty until the end.
        """

    def interrupt(self) -> None:
        """Make the step end soon, for work between steps. Callable from any thread."""

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and neither finished nor cancelled."""
