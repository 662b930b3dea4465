"""How much an engine takes at once, and which jobs it refuses."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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


def fits(jobs: Collection[Job], config: TransformerConfig, n_rows: int, n_tokens: int) -> bool:
    """Whether jobs are at most `n_rows` hypotheses and `n_tokens` source tokens, padded."""
    longest = max((len(job.source_ids) for job in jobs), default=0)
    return longest * len(jobs) <= n_tokens and sum(width(job, config) for job in jobs) <= n_rows


def check_job(job: Job, config: TransformerConfig) -> None:
    """Raise `ValueError` for ids that are none: a device reports them late, or never."""
    if not 1 <= len(job.source_ids) <= config.max_length:
        raise ValueError(f"{len(job.source_ids)} source tokens: 1 … {config.max_length}")
    _check_vocabulary("source", job.source_ids, config.source_vocab_size)
    for token in (job.options.traits.unk_id, job.options.first_id):
        if token is not None:
            _check_vocabulary("target", [token], config.target_vocab_size)
    for constraint in job.options.constraints:
        for wording in constraint.wordings:
            _check_vocabulary("target", wording.ids, config.target_vocab_size)


def _check_vocabulary(side: str, ids: Sequence[int], vocab_size: int) -> None:
    if not 0 <= min(ids) <= max(ids) < vocab_size:
        raise ValueError(f"a {side} id outside the vocabulary of {vocab_size}")
