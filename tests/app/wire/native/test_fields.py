import pytest

from app.errors import InvalidRequestError
from app.wire.native.fields import LenientRequest


class ExampleRequest(LenientRequest):
    q: str
    n: int = 3
    alternatives: int | None = 5


def test_it_reads_forms_and_skips_what_it_does_not_know() -> None:
    assert ExampleRequest.parse({"q": "x", "n": "7", "secret": "y"}) == ExampleRequest(q="x", n=7)


def test_null_is_the_default_of_each_field() -> None:
    assert ExampleRequest.parse({"q": "x", "n": None, "alternatives": None}) == ExampleRequest(
        q="x"
    )


@pytest.mark.parametrize("values", [None, [], "x", {"q": None}, {"q": "x", "n": "many"}])
def test_the_rest_is_refused(values: object) -> None:
    with pytest.raises(InvalidRequestError):
        ExampleRequest.parse(values)


def test_the_schema_has_no_null_and_no_default_that_clients_would_send() -> None:
    fields = ExampleRequest.model_json_schema()["properties"]
    assert fields["alternatives"] == {"title": "Alternatives", "type": "integer"}
    assert fields["n"]["default"] == 3
