import math

import pytest

from app.scheduling.engine_state import Bisection


def try_all(guilty: set[int], n: int) -> tuple[list[int], set[int]]:
    """Sizes of the trials until all is clear, and who was found."""
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
def test_whoever_it_is_is_found_soon(n: int) -> None:
    for one in range(n):
        sizes, found = try_all({one}, n)
        assert found == {one}
        assert len(sizes) <= 2 * math.ceil(math.log2(n))


def test_several_are_found_and_none_else() -> None:
    assert try_all({0, 5, 6}, 9)[1] == {0, 5, 6}
    assert try_all(set(range(5)), 5)[1] == set(range(5))


def test_who_left_meanwhile_is_not_tried() -> None:
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
