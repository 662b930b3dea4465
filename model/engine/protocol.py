"""The seam between scheduling and tensors. Imports no torch, so that a fake needs none.

A scheduler admits jobs, calls `step` as long as the engine is busy, and hands out what each step
finishes. An engine may finish a whole batch within one step, or advance every sentence by one
token and let jobs join and leave in between: the scheduler cannot tell and need not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.trace import SearchTrace

AttentionKind = Literal["encoder", "decoder", "cross"]
PrecisionChoice = Literal["auto", "int8", "fp32"]


@dataclass(frozen=True, slots=True)
class Job:
    """One sentence to translate.

    id          unique among the jobs in an engine
    source_ids  what the encoder reads: target-language symbol, pieces, end of sentence
    stream      whether to tell what is certain of it before it is done
    """

    id: int
    source_ids: tuple[int, ...]
    options: SearchOptions
    stream: bool = False


class Progress(NamedTuple):
    """What is certain of a job: the best hypothesis will begin with these ids."""

    job_id: int
    ids: list[int]


class Finished(NamedTuple):
    """What became of a job: its n best hypotheses, best first, or the error that it died of."""

    job_id: int
    outcome: list[Hypothesis] | Exception


@dataclass(frozen=True)
class EngineInfo:
    """What a user may know about where and how the model runs.

    engine  "cpu", this project's kernels, or "reference", the paper's modules
    """

    engine: str
    device: str
    precision: str
    threads: int


class AttentionRow(NamedTuple):
    """Row `row` of the attention of one kind and layer, in every head."""

    kind: AttentionKind
    layer: int
    row: int


@dataclass(frozen=True)
class Projections:
    """What one attention computes with for one of its rows, in every head; `query` has that row.

    query   [H, 1, Dh]
    keys    [H, S, Dh]
    values  [H, S, Dh]
    weights [H, S], softmax(q Kᵀ / √Dh) where it may see, else 0
    seen    [S], False where the mask keeps the row from looking: at positions that came later
    """

    query: NDArray[np.float32]
    keys: NDArray[np.float32]
    values: NDArray[np.float32]
    weights: NDArray[np.float32]
    seen: NDArray[np.bool_]


class Engine(Protocol):
    """Runs sentences. Called from one thread at a time, but for `interrupt`."""

    @property
    def info(self) -> EngineInfo:
        """Which engine it is, device, precision and threads."""

    def room(self, job: Job) -> bool:
        """Whether the job could join now, beside all that was admitted. Cheap.

        An engine without jobs has room for any.
        """

    def admit(self, jobs: Sequence[Job]) -> None:
        """Take jobs in; cheap, since they are worked on from the next step on.

        An exception means that none of these was taken, and says nothing of the others.
        """

    def cancel(self, job_ids: Sequence[int]) -> None:
        """Drop jobs, which will not be reported as finished. Unknown ids are ignored."""

    def step(self) -> list[Finished]:
        """Advance the jobs admitted and return those that ended. Does nothing when there are none.

        It may go on for as long as none ends. Once one has, or `interrupt` is called, or if that
        was called after the last step ended, it is over within milliseconds. While a job streams
        it has one token.

        An error that concerns single jobs is their outcome; an exception means that every job
        admitted is lost and the engine is empty and ready again.
        """

    def progress(self) -> list[Progress]:
        """Of the jobs that stream and are not finished, those of which more is certain than was.

        Called after a step. What is told of a job only grows; it may be nothing until its end.
        """

    def interrupt(self) -> None:
        """Have a step end soon, since something is to be done between steps. From any thread."""

    @property
    def busy(self) -> bool:
        """True while jobs are admitted and neither finished nor cancelled."""

    def explain(
        self, source_ids: Sequence[int], target_ids: Sequence[int], kind: AttentionKind
    ) -> NDArray[np.float32]:
        """Attention weights [layers, heads, T, S] of one teacher-forced pass over a given pair.

        `target_ids` are the T tokens produced, the end-of-sentence token included; row t is what
        position t looked at when it produced target token t. T = S for `encoder`, S = T for
        `decoder`, where column s is the position that was fed token s − 1.
        """

    def score(
        self, source_ids: Sequence[int], target_ids: Sequence[int], options: SearchOptions
    ) -> NDArray[np.float32]:
        """Log-probabilities [T] of a given target's tokens, by one teacher-forced pass.

        They are those that a search with these options would count for them, −∞ of `<pad>`. Other
        tokens that the search never chooses keep theirs, and no end is forced.
        """

    def project(
        self, source_ids: Sequence[int], target_ids: Sequence[int], at: AttentionRow
    ) -> Projections:
        """What one attention computes with for one row, as in `explain`.

        S is the number of columns that `explain` has.
        """

    def trace(self, source_ids: Sequence[int], options: SearchOptions) -> SearchTrace:
        """The search of one sentence, step by step, beside the jobs that are here.

        Its hypotheses are those that a job with these options finishes with. Raises
        `NumericalError` where such a job would fail with it.
        """
