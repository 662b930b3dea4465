"""How many sentences an engine takes at once, what each may need, and how long a step is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from model.engine.cpu.forward.slots import MAX_BEAM, PAGE, pages_needed
from model.engine.protocol import Job
from model.transformer.config import TransformerConfig

MAX_SENTENCES = 64
"""In flight at once: beyond, products get no faster, and every sentence waits longer."""

MAX_ROWS = 256
"""Hypotheses in flight, and source tokens encoded at once unless one sentence has more."""

MAX_PAGES = 600
"""For 27 sentences of 25 tokens, or 9 of 160, with a beam of 4: with ten times as many, the shipped
model and one of base size were no faster."""

CACHE_BYTES = 2**29
"""Maximum bytes of keys and values, unless one sentence needs more; unused ones take no memory."""

STEP_WORK = 1_000_000_000
"""Minimum multiply-adds of a step, about four milliseconds, even when a sentence ends or an
interrupt arrives. Returning to Python requires the GIL, which takes about a millisecond while the
event loop is busy; and new sentences are cheaper to encode together."""

FLOAT_BYTES = 4
HUGE_PAGE = 2**21
"""Bytes that Linux allocates at a time to arrays as large as the keys and values."""


def page_bytes(config: TransformerConfig) -> int:
    """Return the bytes of a page: keys and values of `PAGE` tokens in every decoder layer."""
    return 2 * config.n_decoder_layers * PAGE * FLOAT_BYTES * config.d_model


def cache_bytes(config: TransformerConfig, n_pages: int) -> int:
    """Return the maximum bytes of the first pages; all keys are contiguous, and all values."""
    of_keys = n_pages * page_bytes(config) // 2
    return 2 * -(-of_keys // HUGE_PAGE) * HUGE_PAGE


def row_work(config: TransformerConfig) -> int:
    """Return the multiply-adds in the products of one row, from a token to its logits."""
    width, inner = config.d_model, config.d_ff_of_decoder
    layer = 6 * width * width + 2 * width * inner  # queries, keys, values, outputs; feed-forward
    return config.n_decoder_layers * layer + config.target_vocab_size * width


class Capacity:
    """Counts sentences, rows and pages that are reserved for the jobs in an engine.

    The worst case of a job is reserved when it is admitted, so that no job fails midway.
    """

    def __init__(self, config: TransformerConfig) -> None:
        self._max_length = longest = config.max_length
        n_pages = min(MAX_PAGES, CACHE_BYTES // page_bytes(config))
        self.n_pages = max(n_pages, pages_needed(longest, MAX_BEAM, longest))
        self.clear()

    def clear(self) -> None:
        self._used = np.zeros(3, np.int64)

    def fits(self, jobs: Sequence[Job]) -> bool:
        needed = sum(map(self._needs, jobs), self._used)
        return bool((needed <= (MAX_SENTENCES, MAX_ROWS, self.n_pages)).all())

    def reserve(self, job: Job) -> None:
        self._used = self._used + self._needs(job)

    def release(self, job: Job) -> None:
        self._used = self._used - self._needs(job)

    def _needs(self, job: Job) -> NDArray[np.int64]:
        """Return the sentences, rows and pages of a job."""
        n_source = len(job.source_ids)
        limit, _, width = job.options.limits(n_source, self._max_length)
        return np.array([1, width, pages_needed(n_source, width, limit)])
