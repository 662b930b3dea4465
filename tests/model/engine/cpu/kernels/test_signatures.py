from typing import Any, NamedTuple

import numpy as np
import pytest

from model.engine.cpu.kernels import signatures
from model.engine.cpu.kernels.signatures import signature_of


class Pair(NamedTuple):
    array: Any
    number: Any


class Other(NamedTuple):
    array: Any
    number: Any


READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False

DISTINCT = [
    1, 1.0, True, np.float32(1), np.int32(1), None, np.zeros(3), np.zeros((3, 3)),
    np.zeros(3, np.float32), np.zeros(3, ">f8"), np.zeros((3, 3), order="F"), np.zeros(6)[::2],
    READ_ONLY, np.zeros(3, [("a", np.int64)]), np.zeros(3, [("b", np.int64)]),
    np.zeros(25, np.int8)[1:].view(np.float64), Pair(np.zeros(3), 1), Pair(np.zeros(3), 1.0),
    Pair(np.zeros((3, 1)), 1), Pair(1, Pair(np.zeros(3), 1)), Pair(1, 1), Other(1, 1),
]  # fmt: skip


def test_types_that_compiled_code_distinguishes_have_distinct_signatures() -> None:
    found = [signature_of((one,)) for one in DISTINCT]
    assert len(set(found)) == len(found)
    assert found == [signature_of((one,)) for one in DISTINCT]


@pytest.mark.parametrize("pair", [(1, np.int64(2)), (1.0, np.float64(2)), (True, np.True_)])
def test_numbers_of_numpy_are_those_of_python(pair: tuple[Any, Any]) -> None:
    assert signature_of(pair[:1]) == signature_of(pair[1:])


def test_a_record_is_read_once_and_forgotten_with_its_arrays() -> None:
    record = Pair(np.zeros(3), 1)
    before = len(signatures._KNOWN)
    first, second = signature_of((record,)), signature_of((record,))
    assert first[0] is second[0]
    assert len(signatures._KNOWN) == before + 1
    key = id(record)
    del record
    assert key not in signatures._KNOWN


@pytest.mark.parametrize("other", [np.zeros(3, np.float32), 1.0, Other(np.zeros(3), 2)])
def test_another_record_at_the_address_of_a_former_one_has_its_own_type(other: Any) -> None:
    array = np.zeros(3)
    former, later = Pair(array, Pair(np.zeros(3), 2)), Pair(array, other)
    first = signature_of((former,))
    signatures._KNOWN[id(later)] = signatures._KNOWN[id(former)]
    assert signature_of((later,)) != first
    assert signature_of((later,)) == signature_of((Pair(array.copy(), other),))
