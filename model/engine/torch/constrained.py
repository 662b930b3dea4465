"""Searches by the reference, each a token at a time: all of `EagerEngine`, a few beside batches.

Those with constraints, and those whose logits processors depend on the tokens of a hypothesis,
branch for each hypothesis, which is a program and no tensor operation. Draws are rare.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from model.decoding.agreement import Agreed
from model.decoding.constrained import constrained_steps
from model.decoding.constraints import PieceEdges
from model.decoding.hypothesis import SearchOptions, outcome
from model.decoding.processors import LogitsProcessors
from model.engine.protocol import Finished, Job
from model.engine.torch.device import memory_errors, upload
from model.transformer.transformer import Transformer

MAX_BESIDE = 4
"""Searches that advance in a step of batches, whose sentences wait for each of them."""


def is_searched_alone(options: SearchOptions) -> bool:
    """Whether batches cannot run a search; of all processors, they have `min_length`."""
    processors = options.processors
    least = processors.min_length if options.processes_logits else 0
    has_others = processors != LogitsProcessors(min_length=least)
    return bool(options.constraints or options.temperature or has_others)


class _Search:
    """A job's search, and its stable prefix after the last step."""

    def __init__(self, job: Job, model: Transformer, edges: PieceEdges) -> None:
        source = upload(np.array([job.source_ids], np.int64), model.device)
        self.job = job
        self.steps = constrained_steps(model, source, job.options, edges)
        self.agreed: Agreed | None = None


class ReferenceSearches:
    """Jobs in flight, each searched by itself; `edges` are those of the target vocabulary.

    beside_batches  whether sentences of batches wait for each step
    """

    def __init__(self, model: Transformer, edges: PieceEdges) -> None:
        self.beside_batches = False
        self._model = model
        self._edges = edges
        self._searches: dict[int, _Search] = {}

    def __len__(self) -> int:
        return len(self._searches)

    @property
    def jobs(self) -> list[Job]:
        return [search.job for search in self._searches.values()]

    def join(self, jobs: Sequence[Job]) -> None:
        """Start searches; they encode at their first step."""
        for job in jobs:
            self._searches[job.id] = _Search(job, self._model, self._edges)

    def cancel(self, job_ids: set[int]) -> None:
        for job_id in job_ids & self._searches.keys():
            del self._searches[job_id]

    def clear(self) -> None:
        self._searches.clear()

    def advance(self) -> tuple[list[Finished], list[Job]]:
        """Advance every search by a token, a few if `beside_batches`; return those that ended.

        Also return the jobs for which memory is short, which leave. Any other error is its search's
        outcome.
        """
        finished: list[Finished] = []
        left: list[Job] = []
        at_once = MAX_BESIDE if self.beside_batches else None
        for job_id, search in list(self._searches.items())[:at_once]:
            try:
                with memory_errors():
                    search.agreed = next(search.steps)
                self._searches[job_id] = self._searches.pop(job_id)  # it is the others' turn
                continue
            except StopIteration as end:
                finished.append(Finished(job_id, outcome(end.value[0])))
            except MemoryError:
                left.append(search.job)
            except Exception as error:
                finished.append(Finished(job_id, error))
            del self._searches[job_id]
        return finished, left

    def prefixes(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the stable prefix of each job that streams, after its first step."""
        for job_id, search in self._searches.items():
            if search.job.stream and search.agreed:
                [ids] = search.agreed()
                yield job_id, ids
