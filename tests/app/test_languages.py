from __future__ import annotations

import pytest

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.languages import Languages

MANY = Languages([("en", "fr"), ("en", "pt-BR"), ("en", "zh-Hant"), ("de", "fr"), ("x-tlh", "en")])


@pytest.mark.parametrize(
    ("source", "target", "direction"),
    [
        ("en", "fr", ("en", "fr")),
        ("EN", "PT-br", ("en", "pt-BR")),
        ("en-US", "zh-hant-TW", ("en", "zh-Hant")),
        (None, "pt-BR", ("en", "pt-BR")),
        ("de", None, ("de", "fr")),
        ("x-tlh", None, ("x-tlh", "en")),
    ],
)
def test_resolve(source: str | None, target: str | None, direction: tuple[str, str]) -> None:
    assert MANY.resolve(source, target) == direction


@pytest.mark.parametrize(
    ("source", "target"),
    [("es", "fr"), ("de", "pt-BR"), ("en", "pt"), ("en", "zh"), ("en_US", "fr"), ("-", "fr")],
)
def test_no_direction(source: str, target: str) -> None:
    with pytest.raises(UnknownLanguagesError, match="de to fr"):
        MANY.resolve(source, target)


@pytest.mark.parametrize(
    ("source", "target", "pointer"),
    [(None, None, "/target"), ("en", None, "/target"), (None, "fr", "/source")],
)
def test_several_directions(source: str | None, target: str | None, pointer: str) -> None:
    with pytest.raises(InvalidRequestError) as failure:
        MANY.resolve(source, target)
    assert [error.pointer for error in failure.value.errors] == [pointer]


def test_the_only_direction_needs_no_name() -> None:
    assert Languages([("en", "fr")]).resolve(None, None) == ("en", "fr")


def test_names() -> None:
    listed = [(language.code, language.name, language.targets) for language in MANY.sources]
    assert listed == [
        ("en", "English", ("fr", "pt-BR", "zh-Hant")),
        ("de", "German", ("fr",)),
        ("x-tlh", "x-tlh", ("en",)),
    ]
