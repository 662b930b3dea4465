"""Capacity, slots, and sizes of shapes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job
from model.engine.torch.slots import Capacity, Slots, bucket
from model.transformer.config import TransformerConfig

CONFIG = TransformerConfig(
    d_model=8, d_ff=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=1,
    source_vocab_size=9, target_vocab_size=9, max_length=9,
)  # fmt: skip
JOBS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 8), st.booleans()), max_size=20)


def job(job_id: int, length: int, beam: int = 1) -> Job:
    return Job(job_id, (3,) * length, SearchOptions(beam))


@given(JOBS, st.integers(1, 40), st.integers(1, 60))
def test_admitted_jobs_stay_within_both_limits(
    drawn: list[tuple[int, int, bool]], max_rows: int, max_tokens: int
) -> None:
    capacity = Capacity(CONFIG, max_rows, max_tokens)
    here: dict[int, Job] = {}
    for number, (length, beam, leaves) in enumerate(drawn):
        new_job = job(number, length, beam)
        jobs = [*here.values(), new_job]
        rows = sum(one.options.beam_size for one in jobs)
        tokens = len(jobs) * max(len(one.source_ids) for one in jobs)
        assert capacity.fits(new_job) == (rows <= max_rows and tokens <= max_tokens)
        if capacity.fits(new_job):
            capacity.reserve(new_job)
            here[number] = new_job
        if leaves and here:
            oldest = next(iter(here))
            del here[oldest]
            capacity.release(oldest)
            capacity.release(oldest)  # once more changes nothing
        assert len(capacity) == len(here)
    capacity.clear()
    assert len(capacity) == 0
    assert capacity.fits(job(99, 1)) == (max_rows >= 1 and max_tokens >= 1)


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


def test_buckets() -> None:
    sizes = sorted({bucket(size, 100) for size in range(101)})
    assert sizes == [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 100]
    assert bucket(0, 0) == 0


def slots_with_jobs(*numbers: int) -> Slots:
    """Jobs whose ids are their slots."""
    slots = Slots(16)
    for slot in numbers:
        slots.occupy(slot, Job(slot, (5, 1), SearchOptions()))
    return slots


def test_a_vacated_slot_is_free_until_it_is_occupied_again() -> None:
    slots = slots_with_jobs(0, 1, 2)
    assert slots.vacate(1).id == 1
    assert slots.free[:2] == [1, 3]
    assert slots.vacated == {1}
    slots.occupy(1, Job(9, (5, 1), SearchOptions()))
    assert slots.vacated == set()


def test_jobs_move_to_lower_slots_if_a_smaller_bucket_holds_them() -> None:
    slots = slots_with_jobs(0, 1, 8, 9)
    assert slots.n_used == 12
    slots.vacated.add(2)
    source, target = slots.compact()
    assert (source, target) == ([8, 9], [2, 3])
    assert {slot: job.id for slot, job in slots.jobs.items()} == {0: 0, 1: 1, 2: 8, 3: 9}
    assert slots.vacated == {8, 9}
    assert slots.n_used == 4


def test_jobs_stay_if_no_smaller_bucket_holds_them() -> None:
    slots = slots_with_jobs(0, 1, 3)
    assert slots.compact() == ((), ())
    assert list(slots.jobs) == [0, 1, 3]
