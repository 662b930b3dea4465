import pytest

from app.errors import InvalidRequestError, UnknownLanguagesError
from app.languages.served import Languages, described, is_among, language_name
from model.interop.m2m100.languages import LISTS, codes_of_tokens

MANY = Languages([("en", "fr"), ("en", "pt-BR"), ("en", "zh-Hant"), ("de", "fr"), ("x-tlh", "en")])


@pytest.mark.parametrize(
    ("source", "target", "direction"),
    [
        ("en", "fr", ("en", "fr")),
        ("EN", "PT-br", ("en", "pt-BR")),
        ("en-US", "zh-hant-TW", ("en", "zh-Hant")),
        ("eng_Latn", "fra_Latn", ("en", "fr")),
        ("deu", "FRA", ("de", "fr")),
        ("en_US", "zh-TW", ("en", "zh-Hant")),
        (None, "pt-BR", ("en", "pt-BR")),
        ("de", None, ("de", "fr")),
        ("x-tlh", None, ("x-tlh", "en")),
    ],
)
def test_resolve(source: str | None, target: str | None, direction: tuple[str, str]) -> None:
    assert MANY.resolve(source, target) == direction


@pytest.mark.parametrize(
    ("source", "target"),
    [("es", "fr"), ("de", "pt-BR"), ("en", "pt-PT"), ("en", "zh"), ("-", "fr")],
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


def test_chinese_is_simplified_unless_its_region_has_the_traditional() -> None:
    both = Languages([("en", "zh-Hans"), ("en", "zh-Hant")])
    for requested, code in (
        ("zh", "zh-Hans"), ("ZH-HANS", "zh-Hans"), ("zho_Hant", "zh-Hant"), ("zh-HK", "zh-Hant"),
        ("cmn", "zh-Hans"), ("zh-CN", "zh-Hans"),
    ):  # fmt: skip
        assert both.resolve("en", requested) == ("en", code)


@pytest.mark.parametrize(
    ("served", "requested"),
    [
        ("zh", "zh ZH zh-Hans zh_hans zh-CN zh-SG cmn zho_Hans"),
        ("zh-Hant", "zh-Hant zh_TW zh-HK zh-MO zho_Hant zh-Hant-TW zt ZH-HANT"),
        ("nb", "nb no NO nb-NO nob nor"),
        ("no", "no nb nb_NO"),
        ("nn", "nn nno nn-NO"),
        ("tl", "tl fil tgl fil-PH"),
        ("fil", "tl fil tgl_Latn"),
        ("he", "he iw heb he_IL"),
        ("id", "id in ind"),
        ("sr", "sr sr-Cyrl sr-RS srp_Cyrl"),
        ("sr-Latn", "sr-Latn sr_latn sh sr-ME hbs"),
        ("pt-BR", "pt-BR pt PT_br pb por_BR"),
        ("pt", "pt pt-BR pt-PT por"),
        ("en", "en en-GB EN_US eng_Latn en-Latn"),
        ("pa", "pa pan pa-Guru pa-IN"),
        ("tw", "tw twi ak"),
    ],
)
def test_codes_that_mean_the_same_find_the_model(served: str, requested: str) -> None:
    languages = Languages([("x-a", served), (served, "x-a")])
    for code in requested.split():
        assert languages.chain("x-a", code) == ("x-a", served)
        assert languages.chain(code, "x-a") == (served, "x-a")


@pytest.mark.parametrize("tokens", [LISTS["nllb"], [f"__{code}__" for code in LISTS["m2m100"]]])
def test_every_language_of_a_model_is_found_by_its_code_and_its_token(tokens: list[str]) -> None:
    codes = codes_of_tokens(tokens)
    languages = Languages([("x-a", code) for code in codes])
    for code, token in codes.items():
        for requested in (code, token.strip("_")):
            assert languages.chain("x-a", requested) == ("x-a", code)


@pytest.mark.parametrize(
    ("served", "requested", "reason"),
    [
        ("zh", "zh-TW", "zh-TW is Traditional Chinese, "),
        ("zh", "zh-Hant", r"zh-Hant is Traditional Chinese, .* writes Simplified Chinese \(zh\)"),
        ("sr", "sr-Latn", r"Serbian \(Latin\), this server writes Serbian \(Cyrillic\) \(sr\)"),
        ("sr", "sr-ME", "Serbian"),
        ("pa", "pa-PK", "Punjabi"),
        ("pt-BR", "pt-PT", r"is European Portuguese, .* writes Brazilian Portuguese \(pt-BR\)"),
    ],
)
def test_a_script_that_is_not_written_is_refused_and_named(
    served: str, requested: str, reason: str
) -> None:
    languages = Languages([("en", served), (served, "en")])
    with pytest.raises(UnknownLanguagesError, match=reason) as refused:
        languages.chain("en", requested)
    assert refused.value.wrong == "target"
    assert languages.chain(requested, "en") == (served, "en")  # more source than target languages


def test_a_code_as_it_is_served_is_preferred_to_another_of_the_same_meaning() -> None:
    languages = Languages([("en", "no"), ("en", "nb"), ("en", "fil"), ("en", "tl")])
    for code in ("no", "nb", "fil", "tl"):
        assert languages.chain("en", code) == ("en", code)


@pytest.mark.parametrize(
    ("listed", "code", "is_listed"),
    [
        ("zh", "zh-Hant", True), ("zh-Hans", "zh", True), ("zh-Hans", "zh-Hant", False),
        ("no", "nb", True), ("nb", "no", True), ("no", "nn", False), ("pt-BR", "pt", False),
        ("pt", "pt-BR", True), ("zh_TW", "zh-Hant-TW", True), ("sr", "sr-Latn", True),
    ],
)  # fmt: skip
def test_a_list_of_languages_names_their_varieties(listed: str, code: str, is_listed: bool) -> None:
    assert is_among(code, ("xx", listed)) == is_listed


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("fr", "French"), ("zh-Hant", "Traditional Chinese"), ("pt_br", "Brazilian Portuguese"),
        ("sr-Latn", "Serbian (Latin)"), ("fr-BE", "French (Belgium)"), ("fra", "French"),
        ("tw", "Twi"), ("kmb", "Kimbundu"), ("x-tlh", "x-tlh"), ("", ""), ("xx-\0", "xx-\0"),
    ],
)  # fmt: skip
def test_names_are_those_of_cldr(code: str, name: str) -> None:
    assert language_name(code) == name


def test_many_directions_are_described_in_short() -> None:
    codes = [f"x{n}" for n in range(9)]
    pairs = [(a, b) for a in codes for b in codes if a != b]
    everything = f"any two of {', '.join(codes)}"
    assert Languages(pairs).known == f"this server translates {everything}"
    assert described([*pairs, ("en", "fr")]) == f"{everything}; en to fr"
    fan = [(a, b) for a in ("en", "de") for b in codes]
    fan += [(b, a) for a in ("en", "de") for b in codes]
    names = ", ".join(codes)
    assert described(fan[: 2 * 9 + 1]) == ", ".join(f"{a} to {b}" for a, b in fan[:19])
    assert described(fan) == f"en, de to {names}; {names} to en, de"


def test_no_pivot_is_looked_for_where_all_is_direct() -> None:
    codes = [f"x{n}" for n in range(200)]
    languages = Languages([(a, b) for a in codes for b in codes if a != b])
    assert languages.pivoted == []
    assert languages.chain("x7", "x199") == ("x7", "x199")


def test_the_only_direction_needs_no_name() -> None:
    assert Languages([("en", "fr")]).resolve(None, None) == ("en", "fr")


def test_names() -> None:
    listed = [(language.code, language.name, language.targets) for language in MANY.sources]
    assert listed == [
        ("en", "English", ("fr", "pt-BR", "zh-Hant")),
        ("de", "German", ("fr",)),
        ("x-tlh", "x-tlh", ("en", "fr", "pt-BR", "zh-Hant")),
    ]


SEVERAL = Languages(
    [("en", "fr"), ("fr", "en"), ("en", "de"), ("fr", "es"), ("es", "de"), ("pt-BR", "en")]
)


@pytest.mark.parametrize(
    ("source", "target", "chain"),
    [
        ("en", "fr", ("en", "fr")),
        ("fr", "de", ("fr", "en", "de")),  # also by way of Spanish, but English was given first
        ("FR-ca", "de-AT", ("fr", "en", "de")),
        ("pt-BR", "fr", ("pt-BR", "en", "fr")),
        ("pt", "fr", ("pt-BR", "en", "fr")),  # the language's main region
        ("pt-PT", "fr", ("pt-BR", "en", "fr")),  # readable by some model
        ("en", "es", ("en", "fr", "es")),
        ("es", None, ("es", "de")),
        ("en", "en", ("en",)),
        ("en", "EN-us", ("en",)),
        ("fr-CA", "fr", ("fr",)),
    ],
)
def test_chain(source: str, target: str | None, chain: tuple[str, ...]) -> None:
    assert SEVERAL.chain(source, target) == chain


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("de", "en"), ("pt-BR", "es"), ("fr", "pt-BR"), ("xx", "xx"),
        ("fr-CA", "fr-BE"),  # both served as French, but different
    ],
)  # fmt: skip
def test_no_chain(source: str, target: str) -> None:
    with pytest.raises(UnknownLanguagesError):
        SEVERAL.chain(source, target)


@pytest.mark.parametrize(
    ("source", "target", "wrong"),
    [
        ("xx", "fr", "source"), ("en", "xx", "target"), ("xx", "yy", "target"),
        (None, "xx", "target"), ("de", "fr", "source"), ("es", "fr", None),
    ],
)  # fmt: skip
def test_unserved_languages_are_named(source: str | None, target: str, wrong: str | None) -> None:
    languages = Languages([("en", "fr"), ("es", "de")])
    with pytest.raises(UnknownLanguagesError) as refused:
        languages.chain(source, target)
    assert (refused.value.source, refused.value.target) == (source, target)
    assert refused.value.wrong == wrong


def test_a_pair_has_two_languages() -> None:
    assert SEVERAL.pair("FR-ca", "de-AT") == ("fr", "de")
    with pytest.raises(InvalidRequestError, match="invalid") as refused:
        SEVERAL.pair("en", "en-GB")
    assert refused.value.errors[0].pointer == "/target"


def test_directions_do_not_pivot() -> None:
    with pytest.raises(UnknownLanguagesError):
        SEVERAL.resolve("fr", "de")


def test_a_direction_by_a_general_code_is_preferred_to_a_pivot_by_a_special_one() -> None:
    languages = Languages([("pt-BR", "en"), ("en", "fr"), ("pt", "fr")])
    assert languages.chain("pt-BR", "fr") == ("pt", "fr")


def test_pivoted_pairs_are_listed_behind_the_directions() -> None:
    assert SEVERAL.pivoted == [
        ("en", "fr", "es"), ("fr", "en", "de"), ("pt-BR", "en", "fr"), ("pt-BR", "en", "de"),
    ]  # fmt: skip
    listed = {language.code: language.targets for language in SEVERAL.sources}
    assert listed["fr"] == ("en", "es", "de")
    assert listed["en"] == ("fr", "de", "es")
    assert listed["pt-BR"] == ("en", "fr", "de")
    assert "de" not in listed
