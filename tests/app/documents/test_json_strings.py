import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.documents.json_strings import open_json
from app.errors import UnreadableFileError
from tests.app.documents.answering import translated, unchanged, uppercased

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    | st.sampled_from(["Good morning", 'say "x"', "a\nb\tc d", "\\", "é / è", "btn_ok"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_unchanged_json_is_identical(value: Any, indent: int | str | None, is_ascii: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert unchanged(open_json(text)) == text


@given(VALUES)
def test_only_strings_that_are_values_change(value: Any) -> None:
    document = open_json(json.dumps(value, indent=1))
    texts = {text.upper() for text in document.texts}
    _compare(value, json.loads(uppercased(document)), texts)


def _compare(before: Any, after: Any, texts: set[str]) -> None:
    assert type(before) is type(after)
    if isinstance(before, dict):
        assert list(before) == list(after)
        for key in before:
            _compare(before[key], after[key], texts)
    elif isinstance(before, list):
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            _compare(one, other, texts)
    elif before != after:
        assert isinstance(before, str)
        assert after == before.upper()
        assert any(text in after for text in texts)


CODE = ("btn_primary", "img/logo.png", "#ff00aa", "onClick", "v1.2", "text/html", "12", "", "a@b.c")
LANGUAGE = ("Cancel", "Save all", "OK", "Élan", "Mr. Smith has 2 dogs")


@pytest.mark.parametrize("value", CODE + LANGUAGE)
def test_language_is_translated_and_code_is_not(value: str) -> None:
    texts = open_json(json.dumps({"Some key": value})).texts
    assert texts == ([value] if value in LANGUAGE else [])


@pytest.mark.parametrize(
    ("text", "answer", "written"),
    [
        (r'["caf\u00e9 au lait"]', "thé", r'["th\u00e9"]'),
        ('["café au lait"]', "thé", '["thé"]'),
        (r'["<b>a b<\/b>"]', "</c>", r'["<\/c>"]'),
        ('["a"]', '"x" \\', r'["\"x\" \\"]'),
        (r'{"a\"b": "c\nd"}', "x", r'{"a\"b": "x\nx"}'),
        (r'["\ud800 a"]', "x", r'["\ud800 a"]'),
        ('{"n": 1' + "0" * 5000 + ', "t": "a"}', "x", '{"n": 1' + "0" * 5000 + ', "t": "x"}'),
    ],
)
def test_a_translation_is_escaped_as_the_file_is(text: str, answer: str, written: str) -> None:
    assert translated(open_json(text), lambda _: answer) == written


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": "b",\n "c": }', "line 2, column 7: not JSON"),
        ('"a', "line 1, column 1: not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_errors_in_json_name_the_position(text: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        open_json(text)
