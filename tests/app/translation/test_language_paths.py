from types import SimpleNamespace
from typing import cast

import pytest

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.translation.language_paths import LanguagePaths
from app.translation.served_model import KnownModel

DIRECTIONS = [("fr", "en"), ("en", "fr"), ("en", "de"), ("es", "pt-BR")]


def model(name: str, **symbols: str) -> KnownModel:
    vocabulary = SimpleNamespace(target_symbols=symbols) if symbols else None
    config = SimpleNamespace(marian_vocabulary=vocabulary)
    slot = SimpleNamespace(failure=None)
    return cast("KnownModel", SimpleNamespace(name=name, slot=slot, config=config))


SEVERAL = LanguagePaths({pair: (model("-".join(pair)),) for pair in DIRECTIONS})
TEXTS = {
    "en": "The house is green.",
    "fr": "La maison est verte.",
    "de": "Das Haus ist grün.",
    "es": "La casa es verde y muy vieja.",
    "sv": "Vädret är fint i dag, och hunden är gammal.",
    "none": "12 %",
}


async def chains(target: str | None, *languages: str) -> list[tuple[str, ...]]:
    assert SEVERAL.named("Auto", target) is None
    found = await SEVERAL.found([TEXTS[language] for language in languages], "auto", target)
    return [one.path.languages for one in found]


def test_a_named_source_is_not_detected() -> None:
    path = SEVERAL.named("fr", "de")
    assert path
    assert path.languages == ("fr", "en", "de")
    assert path.directions == [("fr", "en"), ("en", "de")]
    assert [one.name for [one] in path.models] == ["fr-en", "en-de"]
    assert (path.name, path.is_direct) == ("fr-en+en-de", False)


def test_a_text_may_name_its_target() -> None:
    several = model("several", fr=">>fra<<", de=">>deu<<")
    paths = LanguagePaths({("en", "fr"): (several,), ("en", "de"): (several,)})
    assert paths.typed_target(">>deu<< Good morning") == ("de", "Good morning")
    assert paths.typed_target("\n >>fra<<Good\nmorning") == ("fr", "Good\nmorning")
    assert paths.typed_target(">>fra<<") == ("fr", "")
    for text in (">>spa<< Good", "Good >>fra<< morning", ">>fra< Good", ">> fra<< Good", ""):
        assert paths.typed_target(text) is None
    assert SEVERAL.typed_target(">>fra<< Good morning") is None


def test_a_given_pair_is_translated_by_one_model() -> None:
    path = SEVERAL.direct("en", "fr")
    assert (path.languages, path.name, path.is_direct) == (("en", "fr"), "en-fr", True)
    with pytest.raises(UnknownLanguagesError):
        SEVERAL.direct("fr", "de")


async def test_a_text_in_its_target_has_no_model_but_the_name_of_one() -> None:
    [found] = await SEVERAL.found([TEXTS["fr"]], "auto", "fr")
    assert (found.path.models, found.path.directions, found.path.name) == ((), [], "en-fr")


async def test_every_text_has_its_own_path() -> None:
    assert await chains("de", "fr", "en", "de", "fr") == [
        ("fr", "en", "de"), ("en", "de"), ("de",), ("fr", "en", "de"),
    ]  # fmt: skip


async def test_an_omitted_source_is_the_usual_one_unless_another_is_far_likelier() -> None:
    texts = ["chat", TEXTS["en"], TEXTS["none"], "La maison est verte et le jardin est petit."]
    assert SEVERAL.named(None, "fr") is None  # from English alone
    found = await SEVERAL.found(texts, None, "fr")
    assert [one.path.languages for one in found] == [("en", "fr")] * 3 + [("fr",)]
    assert [one.detected is not None for one in found] == [False, False, False, True]
    [swedish] = await SEVERAL.found([TEXTS["sv"]], None, "fr")
    assert swedish.path.languages == ("en", "fr")
    assert swedish.detected is not None
    assert swedish.detected.language == "sv"


async def test_an_omitted_source_is_detected_if_several_lead_to_the_target() -> None:
    several = LanguagePaths({pair: (model("a"),) for pair in [("en", "de"), ("fr", "de")]})
    assert several.named(None, "de") is None
    found = await several.found([TEXTS["fr"], TEXTS["en"]], None, "de")
    assert [one.path.languages for one in found] == [("fr", "de"), ("en", "de")]


def test_a_server_of_one_source_detects_nothing() -> None:
    path = LanguagePaths({("en", "fr"): (model("a"),)}).named(None, None)
    assert path is not None
    assert path.languages == ("en", "fr")
    with pytest.raises(InvalidRequestError):
        SEVERAL.named(None, None)


async def test_a_detected_language_has_a_confidence() -> None:
    [found] = await SEVERAL.found([TEXTS["fr"]], "auto", "fr-CA")
    assert found.path.languages == ("fr",)
    assert found.detected is not None
    assert found.detected.language == "fr"
    assert 0.5 < found.detected.confidence < 1


async def test_an_undetected_language_is_the_first_source() -> None:
    [found] = await SEVERAL.found([TEXTS["none"]], "auto", "de")
    assert (found.path.languages, found.detected) == (("fr", "en", "de"), None)
    assert await chains(None, "none") == [("fr", "en")]


async def test_a_target_left_out_is_that_of_the_language_found() -> None:
    assert await chains(None, "fr", "es") == [("fr", "en"), ("es", "pt-BR")]
    with pytest.raises(InvalidRequestError) as failure:
        await chains(None, "en")
    assert [error.pointer for error in failure.value.errors] == ["/target"]


@pytest.mark.parametrize(
    ("languages", "target", "message"),
    [
        (["en", "sv"], "fr", r"text 1 seems to be in Swedish \(sv\); this server translates fr to"),
        (["es"], "fr", r"text 0 seems to be in Spanish \(es\)"),
    ],
)
async def test_a_dead_end_names_the_language(
    languages: list[str], target: str, message: str
) -> None:
    with pytest.raises(UnknownLanguagesError, match=message):
        await chains(target, *languages)


def test_an_unknown_target_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UnknownLanguagesError, match=r"^this server translates"):
        SEVERAL.named("auto", "it")
