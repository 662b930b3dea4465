from __future__ import annotations

from typing import NoReturn

import pytest

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.text.languages import Languages
from app.translation.language_selection import MAX_INLINE_TEXTS, Itineraries
from tests.app.asynchronous import asynchronous

SEVERAL = Itineraries(Languages([("fr", "en"), ("en", "fr"), ("en", "de"), ("es", "pt-BR")]))
TEXTS = {
    "en": "The house is green.",
    "fr": "La maison est verte.",
    "de": "Das Haus ist grün.",
    "es": "La casa es verde y muy vieja.",
    "sv": "Vädret är fint i dag, och hunden är gammal.",
    "none": "12 %",
}


def never() -> NoReturn:
    raise AssertionError


async def chains(target: str | None, *languages: str) -> list[tuple[str, ...]]:
    texts = [TEXTS[language] for language in languages]
    found = await SEVERAL.find("Auto", target, len(texts), lambda: texts)
    return [itinerary.languages for itinerary in found]


@asynchronous
async def test_what_is_said_is_not_found_out() -> None:
    found = await SEVERAL.find("fr", "de", 3, never)
    assert [one.languages for one in found] == [("fr", "en", "de")] * 3
    assert [one.detected for one in found] == [None] * 3


@asynchronous
async def test_every_text_goes_its_own_way() -> None:
    assert await chains("de", "fr", "en", "de", "fr") == [
        ("fr", "en", "de"), ("en", "de"), ("de",), ("fr", "en", "de"),
    ]  # fmt: skip


@asynchronous
async def test_many_texts_as_few() -> None:
    few = await chains("de", "fr")
    assert await chains("de", *["fr"] * (MAX_INLINE_TEXTS + 1)) == few * (MAX_INLINE_TEXTS + 1)


@asynchronous
async def test_what_was_found_is_told_with_its_confidence() -> None:
    [found] = await SEVERAL.find("auto", "fr-CA", 1, lambda: [TEXTS["fr"]])
    assert found.languages == ("fr",)
    assert found.detected is not None
    assert found.detected.language == "fr"
    assert 0.5 < found.detected.confidence < 1


@asynchronous
async def test_where_nothing_is_found_the_first_source_is_taken() -> None:
    found = await SEVERAL.find("auto", "de", 1, lambda: [TEXTS["none"]])
    assert (found[0].languages, found[0].detected) == (("fr", "en", "de"), None)
    assert await chains(None, "none") == [("fr", "en")]


@asynchronous
async def test_a_target_left_out_is_that_of_the_language_found() -> None:
    assert await chains(None, "fr", "es") == [("fr", "en"), ("es", "pt-BR")]
    with pytest.raises(InvalidRequestError) as failure:
        await chains(None, "en")
    assert [error.pointer for error in failure.value.errors] == ["/target"]


@pytest.mark.parametrize(
    ("languages", "target", "told"),
    [
        (["en", "sv"], "fr", r"text 1 seems to be in Swedish \(sv\); this server translates fr to"),
        (["es"], "fr", r"text 0 seems to be in Spanish \(es\)"),
    ],
)
@asynchronous
async def test_a_language_that_does_not_lead_there_is_named(
    languages: list[str], target: str, told: str
) -> None:
    with pytest.raises(UnknownLanguagesError, match=told):
        await chains(target, *languages)


@asynchronous
async def test_an_unknown_target_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UnknownLanguagesError, match=r"^this server translates"):
        await SEVERAL.find("auto", "it", 1, never)
