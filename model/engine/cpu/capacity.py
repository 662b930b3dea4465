"""How many sentences an engine takes at once, what each may hold, and how long a step is."""

from __future__ import annotations

from collections.abc import Sequence

from model.decoding.constraints import Constraint, fitting, search_width
from model.engine.cpu.forward.slots import MAX_BEAM, PAGE, pages_needed
from model.engine.protocol import Job
from model.transformer.config import TransformerConfig

MAX_SENTENCES = 64
"""In flight at once: beyond this products get no faster, and every sentence waits longer."""

MAX_ROWS = 256
"""Hypotheses in flight, and source tokens encoded at once unless one sentence has more."""

MAX_PAGES = 600
"""For 27 sentences of 25 tokens, or 9 of 160, with a beam of 4: with ten times as many, the shipped
model and one of base size were no faster."""

CACHE_BYTES = 2**29
"""Of keys and values at most, unless one sentence needs more; what is not used takes no memory."""

STEP_WORK = 1_000_000_000
"""Multiply-adds that a step goes on for even when a sentence is over or it is interrupted: about
four milliseconds. To leave compiled code is to ask for the interpreter's lock, which takes about
one where the event loop is busy; and newcomers are cheaper to encode together."""

FLOAT = 4
HUGE_PAGE = 2**21
"""Bytes that the system gives at a time, on Linux, to arrays as large as the keys and values."""


def page_bytes(config: TransformerConfig) -> int:
    """Keys and values of `PAGE` tokens in every decoder layer."""
    return 2 * config.n_decoder_layers * PAGE * FLOAT * config.d_model


def cache_bytes(config: TransformerConfig, n_pages: int) -> int:
    """Memory of the first so many pages, at most: keys and values of each layer lie together."""
    of_layer = n_pages * PAGE * FLOAT * config.d_model
    return 2 * config.n_decoder_layers * -(-of_layer // HUGE_PAGE) * HUGE_PAGE


def row_work(config: TransformerConfig) -> int:
    """Multiply-adds in the products of one row, from a token to its logits."""
    width, inner = config.d_model, config.d_ff_of_decoder
    layer = 6 * width * width + 2 * width * inner  # queries, keys, values, outputs; feed-forward
    return config.n_decoder_layers * layer + config.target_vocab_size * width


def step_rows(config: TransformerConfig) -> int:
    """Rows after which a step that may end does; see `STEP_WORK`."""
    return STEP_WORK // row_work(config)


def token_limit(job: Job, max_length: int) -> int:
    """Target tokens that it may have."""
    return job.options.token_limit(len(job.source_ids), max_length)


def constraints(job: Job, max_length: int) -> tuple[Constraint, ...]:
    """Those of its constraints for which there is room."""
    wanted = job.options.constraints
    if not wanted:
        return ()
    return fitting(wanted, job.options.room_for_terms(token_limit(job, max_length)))


def width(job: Job, max_length: int) -> int:
    """Hypotheses that it may have."""
    if not job.options.constraints:
        return job.options.beam_size
    return search_width(job.options.beam_size, len(constraints(job, max_length)))


class Capacity:
    """Sentences, rows and pages, and how many of each are kept for the jobs that are here.

    A job keeps the most that it may come to need from its admission on: none fails half-way.

    max_length  tokens of a sentence
    page_bytes  keys and values of `PAGE` tokens in every decoder layer
    """

    def __init__(self, max_length: int, page_bytes: int) -> None:
        self._max_length = max_length
        n_pages = min(MAX_PAGES, CACHE_BYTES // page_bytes)
        self.n_pages = max(n_pages, pages_needed(max_length, MAX_BEAM, max_length))
        self.clear()

    def clear(self) -> None:
        """Keep nothing."""
        self._sentences = self._rows = self._pages = 0

    def fits(self, jobs: Sequence[Job]) -> bool:
        """Whether there is enough for these beside what is kept."""
        return (
            self._sentences + len(jobs) <= MAX_SENTENCES
            and self._rows + sum(width(job, self._max_length) for job in jobs) <= MAX_ROWS
            and self._pages + sum(self._pages_for(job) for job in jobs) <= self.n_pages
        )

    def keep(self, job: Job) -> None:
        """What the job may need, which has to fit."""
        self._add(job, 1)

    def release(self, job: Job) -> None:
        """What was kept for the job."""
        self._add(job, -1)

    def _add(self, job: Job, sign: int) -> None:
        self._sentences += sign
        self._rows += sign * width(job, self._max_length)
        self._pages += sign * self._pages_for(job)

    def _pages_for(self, job: Job) -> int:
        limit = token_limit(job, self._max_length)
        return pages_needed(len(job.source_ids), width(job, self._max_length), limit)
