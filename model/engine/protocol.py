"""The interface between scheduling and tensors. Imports no torch, so that fakes need none.

A scheduler admits jobs, calls `step` as long as the engine is busy, and delivers what each step
finishes. An engine may finish a whole batch within one step, or advance every sentence by one
token and let jobs join and leave in between; the scheduler need not know which.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from model.decoding.hypothesis import Outcome, SearchOptions
from model.engine.explanations import Explanations

PrecisionChoice = Literal["auto", "int8", "fp32", "bf16", "fp16"]


@dataclass(frozen=True, slots=True)
class Job:
    """One sentence to translate.

    id          unique among the jobs in an engine
    source_ids  what the encoder reads: target-language symbol, pieces, end of sentence
    stream      whether to report its stable prefix before it is finished
    """

    id: int
    source_ids: tuple[int, ...]
    options: SearchOptions
    stream: bool = False


class Progress(NamedTuple):
    """The stable prefix of a job: its best hypothesis will start with these ids."""

    job_id: int
    ids: list[int]


class Finished(NamedTuple):
    """The outcome of a job."""

    job_id: int
    outcome: Outcome


@dataclass(frozen=True)
class EngineInfo:
    """Where and how the model runs, for users.

    engine  "cpu": this project's kernels; "torch": any device of torch; "reference": the paper's
            modules
    """

    engine: str
    device: str
    precision: str
    threads: int


class EngineMemory(NamedTuple):
    """Bytes that an engine holds now; engines that share weights each count them."""

    weights: int
    work: int


class Engine(Explanations, Protocol):
    """Translates sentences, and explains them one at a time (`explanations`).

    Called from one thread at a time, except `interrupt` and `memory`. A `step` that raises leaves
    the engine empty; any other method that raises leaves the admitted jobs as they were.
    """

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""

    @property
    def memory(self) -> EngineMemory:
        """The memory that it holds now. Cheap, and from any thread."""

    def can_admit(self, job: Job) -> bool:
        """Whether the job fits beside those admitted. Cheap; an engine without jobs fits any."""

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit all of the jobs, or none and raise; cheap, since work starts with the next step."""

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs; they are not reported as finished. Unknown ids are ignored."""

    def step(self) -> list[Finished]:
        """Advance the admitted jobs and return those that ended. Does nothing without jobs.

        It may run until a job ends. Once one has, or once `interrupt` has been called since the
        last step, it returns within milliseconds. While a job streams, a step is one token.

        An error that concerns single jobs is their outcome. An exception means that every admitted
        job is lost and the engine is empty and usable again.
        """

    def progress(self) -> list[Progress]:
        """Return the stable prefixes, of unfinished streaming jobs, that have grown.

        Called after a step. A prefix may stay empty until the end.
        """

    def interrupt(self) -> None:
        """Make the step end soon, for work between steps. Callable from any thread."""

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and neither finished nor cancelled."""
