"""How much an engine takes at once."""

from __future__ import annotations

from model.decoding.constraints import fitting, search_width
from model.engine.protocol import Job
from model.transformer.config import TransformerConfig

MAX_ROWS = {"cpu": 256}
"""Hypotheses in flight by type of device: beyond, products get no faster."""

MAX_ROWS_ELSEWHERE = 1024


def max_rows(device_type: str) -> int:
    """Return how many hypotheses a device may have in flight."""
    return MAX_ROWS.get(device_type, MAX_ROWS_ELSEWHERE)


def width(job: Job, config: TransformerConfig) -> int:
    """Return the number of hypotheses that a job may have."""
    options = job.options
    if not options.constraints:
        return options.beam_size
    limit = options.token_limit(len(job.source_ids), config.max_length)
    terms = fitting(options.constraints, options.room_for_terms(limit))
    return search_width(options.beam_size, len(terms))


class Admission:
    """The jobs in an engine, waiting or in flight, and how many more there may be.

    max_rows    hypotheses
    max_tokens  jobs × the longest of them, in source tokens
    """

    def __init__(self, config: TransformerConfig, max_rows: int, max_tokens: int) -> None:
        self._config = config
        self._max_rows = max_rows
        self._max_tokens = max_tokens
        self._widths: dict[int, int] = {}
        self._lengths: dict[int, int] = {}
        self._n_rows = 0

    def __len__(self) -> int:
        return len(self._widths)

    def fits(self, job: Job) -> bool:
        """Whether there is room for a job beside those that are here."""
        longest = max(len(job.source_ids), *self._lengths.values(), 0)
        n_rows = self._n_rows + width(job, self._config)
        return (len(self) + 1) * longest <= self._max_tokens and n_rows <= self._max_rows

    def keep(self, job: Job) -> None:
        """Count a job."""
        self._widths[job.id] = width(job, self._config)
        self._lengths[job.id] = len(job.source_ids)
        self._n_rows += self._widths[job.id]

    def release(self, job_id: int) -> None:
        """Count a job no longer, if it is here."""
        self._n_rows -= self._widths.pop(job_id, 0)
        self._lengths.pop(job_id, None)

    def clear(self) -> None:
        """Count none."""
        self._widths.clear()
        self._lengths.clear()
        self._n_rows = 0
