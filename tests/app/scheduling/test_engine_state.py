import math

import pytest

from app.scheduling.engine_state import (
    BULK_ROWS,
    BULK_ROWS_IN_COMPANY,
    COMPANY_SECONDS,
    Bisection,
    BulkShare,
    Throughput,
)


def test_lists_have_less_of_an_engine_while_single_segments_come() -> None:
    share = BulkShare()
    assert share.n_rows(0.0) == BULK_ROWS
    share.single_came(10.0)
    assert share.n_rows(10.0 + COMPANY_SECONDS / 2) == BULK_ROWS_IN_COMPANY
    share.single_came(10.0 + COMPANY_SECONDS / 2)
    assert share.n_rows(10.0 + COMPANY_SECONDS) == BULK_ROWS_IN_COMPANY
    assert share.n_rows(10.0 + 1.5 * COMPANY_SECONDS) == BULK_ROWS
    assert BULK_ROWS_IN_COMPANY < BULK_ROWS


def try_all(guilty: set[int], n: int) -> tuple[list[int], set[int]]:
    """Return the sizes of the trials, and the culprits."""
    bisection = Bisection()
    present = set(range(n))
    bisection.suspect(sorted(present))
    sizes, found = [], set()
    while group := bisection.next_group(present.__contains__):
        assert bisection.on_trial(present.__contains__) == group
        sizes.append(len(group))
        if not guilty & set(group):
            present -= set(group)
        elif len(group) == 1:
            present -= set(group)
            found |= set(group)
        else:
            bisection.suspect(group)
    assert not bisection
    assert not present
    return sizes, found


def test_halves_of_halves() -> None:
    assert try_all({2}, 8) == ([4, 2, 2, 1, 1, 4], {2})


@pytest.mark.parametrize("n", [2, 3, 7, 64])
def test_any_culprit_is_found_soon(n: int) -> None:
    for one in range(n):
        sizes, found = try_all({one}, n)
        assert found == {one}
        assert len(sizes) <= 2 * math.ceil(math.log2(n))


def test_several_are_found_and_none_else() -> None:
    assert try_all({0, 5, 6}, 9)[1] == {0, 5, 6}
    assert try_all(set(range(5)), 5)[1] == set(range(5))


def test_sentences_that_left_are_not_tried() -> None:
    bisection = Bisection()
    bisection.suspect([1, 2, 3, 4])
    present = {1, 4}
    assert bisection.next_group(present.__contains__) == [1]
    assert bisection.next_group({2}.__contains__) == []
    assert not bisection


def test_a_trial_is_over_when_all_of_it_has_ended() -> None:
    bisection = Bisection()
    bisection.suspect([1, 2, 3])
    present = {1, 2, 3}
    assert bisection.next_group(present.__contains__) == [1]
    assert bisection
    present -= {1}
    assert bisection.on_trial(present.__contains__) == []
    assert bisection.next_group(present.__contains__) == [2, 3]
    bisection.clear()
    assert not bisection


def test_the_pace_is_unknown_before_the_first_sentence_is_finished() -> None:
    throughput = Throughput()
    assert throughput.seconds_per_token == 0
    throughput.worked(5)
    assert throughput.seconds_per_token == 0


def test_steps_without_finished_sentences_count_towards_the_next_one() -> None:
    throughput = Throughput()
    throughput.worked(1)
    throughput.worked(1)
    throughput.finished(10)
    assert throughput.seconds_per_token == pytest.approx((math.exp(-0.1) + 1) / 10)


def test_the_estimate_follows_a_change_of_pace() -> None:
    throughput = Throughput()
    for _ in range(50):
        throughput.worked(10)
        throughput.finished(10)
    for _ in range(20):
        throughput.worked(1)
        throughput.finished(10)
    assert 0.1 < throughput.seconds_per_token < 0.25


def test_the_time_of_a_sentence_is_the_sum_of_its_steps() -> None:
    throughput = Throughput()
    for _ in range(20):
        for _ in range(100):
            throughput.worked(0.001)
        throughput.finished(10)
        assert throughput.seconds_per_token == pytest.approx(0.01, rel=0.01)
