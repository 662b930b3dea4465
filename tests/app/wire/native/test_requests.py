import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InvalidRequestError
from app.wire.native.fields import AttentionRequest
from app.wire.native.requests import TranslateRequest
from app.wire.problems import problem_response

FIELDS = [*TranslateRequest.model_fields, *AttentionRequest.model_fields]
# Everything that json.loads can return, lone surrogates and infinity included.
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False)
    | st.text(st.characters()) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(FIELDS) | st.text(st.characters()), inner, max_size=3),
)  # fmt: skip


@given(ANYTHING | st.dictionaries(st.sampled_from(FIELDS), ANYTHING))
def test_any_json_is_a_request_or_a_problem_that_can_be_sent(values: Any) -> None:
    problem: InvalidRequestError | None = None
    try:
        TranslateRequest.parse(values).model_dump_json()
    except InvalidRequestError as error:
        problem = error
    if problem:
        assert json.loads(bytes(problem_response(problem, "id").body))["errors"]


def test_defaults() -> None:
    request = TranslateRequest.parse({"text": "a"})
    assert request.text == ["a"]
    assert (request.source, request.target, request.attention) == (None, None, None)


@pytest.mark.parametrize(
    ("attention", "selected"),
    [
        (False, None),
        (True, AttentionRequest(kind="cross", layers="last", heads="mean", encoding="json")),
        ({}, AttentionRequest()),
        ({"layers": [0, 2], "heads": "all"}, AttentionRequest(layers=[0, 2], heads="all")),
    ],
)
def test_attention(attention: Any, selected: AttentionRequest | None) -> None:
    assert TranslateRequest.parse({"text": "a", "attention": attention}).attention == selected
