from __future__ import annotations

from model.decoding.hypothesis import SearchOptions
from model.engine.protocol import Job
from model.engine.torch.seats import Seats


def seated(*slots: int) -> Seats:
    """Jobs whose ids are their slots, of which the odd ones stream."""
    seats = Seats(16)
    for slot in slots:
        seats.enter(slot, Job(slot, (5, 1), SearchOptions(), stream=slot % 2 == 1))
    return seats


def test_a_slot_that_was_left_is_free_and_has_to_be_vacated() -> None:
    seats = seated(0, 1, 2)
    assert seats.leave(1).id == 1
    assert seats.free[:2] == [1, 3]
    assert seats.vacated == {1}
    assert seats.n_told == {}
    seats.enter(1, Job(9, (5, 1), SearchOptions()))
    assert seats.vacated == set()


def test_jobs_move_where_a_smaller_bucket_holds_them() -> None:
    seats = seated(0, 1, 8, 9)
    assert seats.n_used == 12
    seats.n_told[9] = 7
    seats.vacated.add(2)
    source, target = seats.compact()
    assert (source, target) == ([8, 9], [2, 3])
    assert {slot: job.id for slot, job in seats.jobs.items()} == {0: 0, 1: 1, 2: 8, 3: 9}
    assert seats.n_told == {1: 0, 3: 7}
    assert seats.vacated == {8, 9}
    assert seats.n_used == 4


def test_jobs_stay_where_no_smaller_bucket_holds_them() -> None:
    seats = seated(0, 1, 3)
    assert seats.compact() == ((), ())
    assert list(seats.jobs) == [0, 1, 3]
