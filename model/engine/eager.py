"""The reference engine: the searches of `model.decoding`, one sentence in each. Slow and right."""

from collections.abc import Sequence

import torch

from model.decoding.constraints import PieceEdges
from model.engine.jobs import check_job, grown
from model.engine.protocol import EngineInfo, EngineMemory, Finished, Job, Progress
from model.engine.torch.constrained import ReferenceSearches
from model.engine.torch.explanations import TorchExplanations
from model.transformer.transformer import Transformer

MAX_JOBS = 8
"""Searches at a time, each of which has a cache of its own."""


class EagerEngine(TorchExplanations):
    """Runs a search for each job, all of them a token at a time; see `Engine`.

    edges  of the target vocabulary, for constraints: where their words may end
    """

    def __init__(self, model: Transformer, edges: PieceEdges | None = None) -> None:
        super().__init__(model, edges)
        self._searches = ReferenceSearches(model, self._edges)
        self._reported: dict[int, int] = {}  # lengths of the prefixes of jobs that stream

    @property
    def info(self) -> EngineInfo:
        device, threads = str(self._model.device), torch.get_num_threads()
        return EngineInfo("reference", device, self._precision, threads)

    @property
    def memory(self) -> EngineMemory:
        """The parameters and buffers, without the temporary memory of searches."""
        return EngineMemory(self._model_bytes, 0)

    @property
    def busy(self) -> bool:
        return bool(self._searches)

    def can_admit(self, job: Job) -> bool:  # noqa: ARG002
        return len(self._searches) < MAX_JOBS

    def admit(self, jobs: Sequence[Job]) -> None:
        """Admit jobs. Raises `ValueError` for invalid ids."""
        for job in jobs:
            check_job(job, self._model.config)
        self._searches.join(jobs)

    def cancel(self, job_ids: Sequence[int]) -> None:
        self._searches.cancel(set(job_ids))
        for job_id in job_ids:
            self._reported.pop(job_id, None)

    def progress(self) -> list[Progress]:
        return grown(self._searches.prefixes(), self._reported)

    def interrupt(self) -> None:
        """Do nothing: a step ends with the first of its jobs."""

    def step(self) -> list[Finished]:
        """Advance every search until one ends, or by a token if one streams.

        An error is the outcome of its job.
        """
        finished: list[Finished] = []
        try:
            while self._searches and not finished:
                finished, left = self._searches.advance()
                no_memory = MemoryError("the device has no memory left")
                finished += [Finished(job.id, no_memory) for job in left]
                if any(job.stream for job in self._searches.jobs):
                    break
        except BaseException:
            self.cancel([job.id for job in self._searches.jobs])
            raise
        for done in finished:
            self._reported.pop(done.job_id, None)
        return finished
