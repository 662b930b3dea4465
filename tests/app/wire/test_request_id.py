import re

import pytest
from starlette.datastructures import Headers

from app.wire.request_id import REQUEST_ID, request_id_of


@pytest.mark.parametrize("given", ["a", "0-9/az~!", "x" * 128])
def test_a_clients_id_is_kept(given: str) -> None:
    assert request_id_of(Headers({REQUEST_ID.lower(): given})) == given


@pytest.mark.parametrize("given", ["", "x" * 129, "a b", "a\tb", "é", "a\n"])
def test_others_are_replaced(given: str) -> None:
    made = request_id_of(Headers({REQUEST_ID.lower(): given}))
    assert re.fullmatch(r"[0-9a-f]{32}", made)


def test_new_ids_differ() -> None:
    assert len({request_id_of(Headers()) for _ in range(100)}) == 100
