import numpy as np
import pytest

from model.decoding.constraints import Constraint, Wording
from model.decoding.shortlist import Shortlist


def shortlist(*, is_shared: bool = True, n_first: int = 2) -> Shortlist:
    """Tokens 0 … 3 have the candidates (), (20, 21), (9,) and (21, 30)."""
    offsets = np.array([0, 0, 2, 3, 5], np.uint64)
    ids = np.array([20, 21, 9, 21, 30], np.uint32)
    return Shortlist(n_first, offsets, ids, 40, is_shared)


def test_candidates_are_the_first_ids_the_lists_and_the_source() -> None:
    """Add the lowest further ids, up to a multiple of eight."""
    found = shortlist().candidates([1, 3, 3])
    assert found.tolist() == [0, 1, 2, 3, 4, 20, 21, 30]
    assert found.dtype == np.int64


def test_with_two_vocabularies_the_source_is_not_a_candidate() -> None:
    found = shortlist(is_shared=False).candidates([3, 2])
    assert found.tolist() == [0, 1, 2, 3, 4, 9, 21, 30]


def test_padding_has_no_list() -> None:
    assert shortlist().candidates([3, 4, 4]).tolist() == shortlist().candidates([3]).tolist()


def test_no_id_is_added_to_a_multiple_of_eight() -> None:
    found = shortlist(n_first=6, is_shared=False).candidates([1])
    assert found.tolist() == [0, 1, 2, 3, 4, 5, 20, 21]


@pytest.mark.parametrize("source", [[], [1], [2, 3]])
def test_terms_are_candidates_beside_the_others(source: list[int]) -> None:
    term = Constraint((Wording((33, 34)), Wording((35,))))
    found = shortlist().candidates(source, [term]).tolist()
    assert found == sorted({*shortlist().candidates(source).tolist(), 33, 34, 35})


def test_all_ids_may_be_candidates() -> None:
    assert shortlist(n_first=40).candidates([1]).tolist() == list(range(40))
    assert shortlist(n_first=37, is_shared=False).candidates([]).tolist() == list(range(40))
