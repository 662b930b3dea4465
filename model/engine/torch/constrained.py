"""Searches with terms, by the reference, each a token at a time beside the batches.

They branch on what each hypothesis says, which is a program and no tensor operation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from model.decoding.agreement import Agreed, Steps
from model.decoding.constrained import constrained_steps
from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import Hypothesis
from model.engine.protocol import Finished, Job, Progress
from model.engine.torch.memory_short import is_memory_short
from model.engine.torch.transfers import upload
from model.errors import NumericalError
from model.transformer.transformer import Transformer


class _Search:
    """A job's search, and what is known of its result."""

    def __init__(self, job: Job, steps: Steps) -> None:
        self.job = job
        self.steps = steps
        self.agreed: Agreed | None = None
        self.n_told = 0


class ConstrainedSearches:
    """Jobs with constraints in flight.

    edges  of the target vocabulary: where its words may end
    """

    def __init__(self, model: Transformer, edges: PieceEdges) -> None:
        self._model = model
        self._edges = edges
        self._searches: dict[int, _Search] = {}

    def __len__(self) -> int:
        return len(self._searches)

    @property
    def streams(self) -> bool:
        """Whether a job streams."""
        return any(search.job.stream for search in self._searches.values())

    def join(self, jobs: Sequence[Job]) -> None:
        """Start searches; they encode at their first step."""
        for job in jobs:
            source = upload(np.array([job.source_ids], np.int64), self._model.device)
            steps = constrained_steps(self._model, source, job.options, self._edges)
            self._searches[job.id] = _Search(job, steps)

    def cancel(self, job_ids: set[int]) -> None:
        """Drop jobs."""
        for job_id in job_ids & self._searches.keys():
            del self._searches[job_id]

    def clear(self) -> None:
        """Drop all jobs."""
        self._searches.clear()

    def advance(self) -> tuple[list[Finished], list[Job]]:
        """Take every search a token further; return those that ended.

        Also return the jobs for which memory is too short, which then are no longer here. Any other
        error is its search's outcome.
        """
        finished: list[Finished] = []
        left: list[Job] = []
        for job_id, search in list(self._searches.items()):
            try:
                search.agreed = next(search.steps)
                continue
            except StopIteration as end:
                finished.append(Finished(job_id, _checked(end.value[0])))
            except Exception as error:
                if is_memory_short(error):
                    left.append(search.job)
                else:
                    finished.append(Finished(job_id, error))
            del self._searches[job_id]
        return finished, left

    def progress(self) -> list[Progress]:
        """Return what is newly certain of jobs that stream."""
        news = []
        for search in self._searches.values():
            if search.job.stream and search.agreed:
                [ids] = search.agreed()
                if len(ids) > search.n_told:
                    search.n_told = len(ids)
                    news.append(Progress(search.job.id, ids))
        return news


def _checked(found: list[Hypothesis]) -> list[Hypothesis] | Exception:
    if found and all(np.isfinite(one.score) for one in found):
        return found
    return NumericalError("the model's output is not finite for this input")
