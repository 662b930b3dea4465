import pytest

from app.languages.detector import CERTAIN, LEAST, LanguageDetector

EN_FR = LanguageDetector(["en", "fr"])


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The house is green.", "en"),
        ("La maison est verte.", "fr"),
        ("Bonjour", "fr"),
        ("THE WEATHER IS NICE", "en"),
        ("12.50 % 🏳️‍🌈 -- Il fait beau.", "fr"),
        ("I can't help anyone.", "en"),  # Tswana with 99.6 % by trigrams alone
        ("OK", "en"),  # without trigrams
    ],
)
def test_a_language_that_is_served(text: str, language: str) -> None:
    candidates = EN_FR.detect(text)
    assert candidates[0].language == language
    assert {one.language for one in candidates} <= {"en", "fr"}
    assert sum(one.confidence for one in candidates) == pytest.approx(1, abs=LEAST)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Guten Tag, wie geht es Ihnen?", "de"),
        ("O tempo está bom hoje.", "pt"),
        ("你好世界", "zh"),
        ("ქართული ენა", "ka"),
        ("Ελληνικά", "el"),
    ],
)
def test_a_language_that_is_not_served_and_certain(text: str, language: str) -> None:
    [best, *_] = EN_FR.detect(text)
    assert best.language == language
    assert best.confidence >= CERTAIN


def test_a_script_of_no_served_language_is_never_detected_as_one() -> None:
    candidates = EN_FR.detect("Привет")
    assert {"ru", "bg"} < {one.language for one in candidates}
    assert candidates[0].confidence < CERTAIN
    assert not {"en", "fr"} & {one.language for one in candidates}


@pytest.mark.parametrize("text", ["", " \n", "12.50 %", "🏳️‍🌈", "?!", "\x00", "ᏣᎳᎩ"])
def test_a_text_without_letters_has_no_detected_language(text: str) -> None:
    assert EN_FR.detect(text) == []


@pytest.mark.parametrize("text", ["Guten Tag, wie geht es Ihnen?", "Ich habe keine Zeit.", "Paris"])
def test_candidates_are_best_first_and_probable_enough(text: str) -> None:
    for detector in (EN_FR, LanguageDetector(["en", "fr", "de", "nl", "sv"])):
        confidences = [one.confidence for one in detector.detect(text)]
        assert confidences == sorted(confidences, reverse=True)
        assert all(LEAST <= confidence <= 1 for confidence in confidences)


def test_codes_are_those_served() -> None:
    detector = LanguageDetector(["pt-BR", "pt", "zh-Hant", "NO"])
    assert detector.detect("Não tenho tempo para isso.")[0].language == "pt-BR"
    assert detector.detect("今天天氣很好。")[0].language == "zh-Hant"
    assert detector.detect("Jeg vet ikke hva du snakker om.")[0].language == "NO"


def test_a_single_language_is_still_distinguished_from_others() -> None:
    alone = LanguageDetector(["en"])
    assert [(one.language, one.confidence) for one in alone.detect("Guacamole")] == [("en", 1.0)]
    assert alone.detect("Ich habe keine Zeit.")[0].language == "de"
    assert "en" not in {one.language for one in alone.detect("Привет")}


def test_languages_unknown_to_lingua_are_never_detected() -> None:
    assert LanguageDetector(["x-tlh"]).detect("The house is green.") == []
    assert LanguageDetector(["x-tlh", "en"]).detect("The house is green.")[0].language == "en"


def test_detection_is_deterministic() -> None:
    text = "The green house and the old dog, aujourd'hui avec le chat."
    once = EN_FR.detect(text)
    assert all(EN_FR.detect(text) == once for _ in range(200))


@pytest.mark.parametrize(
    ("served", "text"),
    [
        ("fil", "Magandang umaga po sa inyong lahat."), ("tl", "Magandang umaga sa inyo."),
        ("no", "Hva heter du, og hvor kommer du fra?"), ("nb", "Hva heter du?"),
        ("zh_Hant", "今天天氣很好。"), ("iw", "שלום עולם"), ("in", "Selamat pagi, apa kabar?"),
        ("pt-BR", "O tempo está bom hoje."),
    ],
)  # fmt: skip
def test_a_detected_language_has_the_code_by_which_it_is_served(served: str, text: str) -> None:
    [best, *_] = LanguageDetector(["en", served]).detect(text)
    assert best.language == served
