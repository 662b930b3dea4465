"""Functions for the jobs of all engines: check their ids, report their stable prefixes.

Kernels use ids as offsets without checks, and a GPU reports wrong ones late or never.
"""

from collections.abc import Iterable, Sequence

from model.engine.protocol import Job, Progress
from model.transformer.config import TransformerConfig


def check_job(job: Job, config: TransformerConfig) -> None:
    """Raise `ValueError` for ids outside the vocabularies, for no or too many of them.

    Also for a term that has a control token.
    """
    _check_ids("source", job.source_ids, config.source_vocab_size, config.max_length)
    for token in (job.options.traits.unk_id, job.options.first_id):
        if token is not None:
            _check_vocabulary("target", [token], config.target_vocab_size)
    for word in job.options.processors.bad_words_ids:
        _check_vocabulary("target", word, config.target_vocab_size)
    for constraint in job.options.constraints:
        for wording in constraint.wordings:
            _check_vocabulary("target", wording.ids, config.target_vocab_size)
            if not {config.pad_id, config.eos_id}.isdisjoint(wording.ids):
                raise ValueError("a term with <pad> or the end of sentence")


def check_pair(
    source_ids: Sequence[int], target_ids: Sequence[int], config: TransformerConfig
) -> None:
    """Raise `ValueError` as `check_job`, for a source and a given target."""
    _check_ids("source", source_ids, config.source_vocab_size, config.max_length)
    _check_ids("target", target_ids, config.target_vocab_size, config.max_length)


def _check_ids(side: str, ids: Sequence[int], vocab_size: int, max_length: int) -> None:
    if not 1 <= len(ids) <= max_length:
        raise ValueError(f"{len(ids)} {side} tokens: 1 … {max_length}")
    _check_vocabulary(side, ids, vocab_size)


def _check_vocabulary(side: str, ids: Sequence[int], vocab_size: int) -> None:
    if not 0 <= min(ids) <= max(ids) < vocab_size:
        raise ValueError(f"a {side} id outside the vocabulary of {vocab_size}")


def grown(prefixes: Iterable[tuple[int, list[int]]], reported: dict[int, int]) -> list[Progress]:
    """Return the prefixes, by job id, that are longer than `reported`, and update `reported`."""
    updates = [Progress(key, ids) for key, ids in prefixes if len(ids) > reported.get(key, 0)]
    reported.update((one.job_id, len(one.ids)) for one in updates)
    return updates
