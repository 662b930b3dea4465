"""The counts of an engine's jobs, against those made anew from the jobs that are there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job
from model.engine.torch.admission import Admission
from model.engine.torch.buckets import bucket
from model.transformer.config import TransformerConfig

CONFIG = TransformerConfig(
    d_model=8, d_ff=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1,
    source_vocab_size=9, target_vocab_size=9, max_length=9,
)  # fmt: skip
JOBS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 8), st.booleans()), max_size=20)


def job(job_id: int, length: int, beam: int = 1) -> Job:
    return Job(job_id, (3,) * length, SearchOptions(beam))


@given(JOBS, st.integers(1, 40), st.integers(1, 60))
def test_what_is_admitted_stays_within_both_limits(
    drawn: list[tuple[int, int, bool]], max_rows: int, max_tokens: int
) -> None:
    admission = Admission(CONFIG, max_rows, max_tokens)
    here: dict[int, Job] = {}
    for number, (length, beam, leaves) in enumerate(drawn):
        newcomer = job(number, length, beam)
        jobs = [*here.values(), newcomer]
        rows = sum(one.options.beam_size for one in jobs)
        tokens = len(jobs) * max(len(one.source_ids) for one in jobs)
        assert admission.fits(newcomer) == (rows <= max_rows and tokens <= max_tokens)
        if admission.fits(newcomer):
            admission.keep(newcomer)
            here[number] = newcomer
        if leaves and here:
            oldest = next(iter(here))
            del here[oldest]
            admission.release(oldest)
            admission.release(oldest)  # once more changes nothing
        assert len(admission) == len(here)
    admission.clear()
    assert len(admission) == 0
    assert admission.fits(job(99, 1)) == (max_rows >= 1 and max_tokens >= 1)


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_a_bucket_holds_its_size_and_is_at_most_a_third_empty(size: int, largest: int) -> None:
    if size > largest:
        with pytest.raises(ValueError, match=f"size {size}"):
            bucket(size, largest)
        return
    found = bucket(size, largest)
    assert size <= found <= max(largest, 1)
    if size >= 8:
        assert found * 2 <= size * 3 + 1
    assert found in (1, 2, 4, 8, largest) or found % 4 == 0
