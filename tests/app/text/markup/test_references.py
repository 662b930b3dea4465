import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.text.document import Answer
from app.text.markup.document import MarkupDocument
from app.text.markup.references import MAX_REFERENCES
from app.text.markup.tokens import Format
from app.text.spans import Span
from app.text.word_links import WordLink
from model.text.words import words
from tests.cases import cases
from tests.linear import assert_linear

TO_FRENCH, TO_ENGLISH = ("en", "fr"), ("fr", "en")


def written(
    document: str,
    translation: str,
    languages: tuple[str, str] = TO_FRENCH,
    markup: Format = "html",
    links: list[WordLink] | None = None,
) -> str:
    opened = MarkupDocument(document, markup)
    return opened.with_translations([Answer(translation, links, languages)])


@pytest.mark.parametrize(
    ("document", "translation", "expected"),
    [case for kind in cases(__file__, "references").values() for case in kind],
)
def test_each_reference_stands_where_it_belongs(
    document: str, translation: str, expected: str
) -> None:
    assert written(document, translation) == expected


@pytest.mark.parametrize(("document", "translation", "expected"), cases(__file__, "left_out"))
def test_references_that_the_translation_lacks_are_left_out(
    document: str, translation: str, expected: str
) -> None:
    assert written(document, translation, TO_ENGLISH) == expected


def test_a_space_between_translated_words_follows_their_links() -> None:
    assert MarkupDocument("red&nbsp;car, nice", "html").tagged == [True]
    assert MarkupDocument("30&nbsp;km !", "html").tagged == [False]
    answer = "voiture rouge, belle"
    links = [
        WordLink(Span(0, 3), Span(8, 13)),
        WordLink(Span(4, 7), Span(0, 7)),
        WordLink(Span(9, 13), Span(15, 20)),
    ]
    assert written("red car,&nbsp;&nbsp;nice", answer, links=links).count("&nbsp;") == 2
    assert written("red&nbsp;car, nice", "auto rot ist", links=[]) == "auto rot ist"
    swapped = [WordLink(Span(0, 3), Span(0, 7)), WordLink(Span(4, 7), Span(8, 13))]
    assert written("red&nbsp;car", "voiture rouge", links=swapped) == "voiture&nbsp;rouge"


def test_tags_and_references_do_not_disturb_each_other() -> None:
    document = "<b>R&amp;D</b>: 10&nbsp;km <i>caf&eacute;</i>&hellip;"
    translation = "R&D : 10 km café..."
    links = [
        WordLink(Span(*here), Span(*there))
        for here, there in zip(words("R&D: 10 km café…"), words(translation), strict=False)
    ]
    assert (
        written(document, translation, links=links)
        == "<b>R&amp;D</b> : 10&nbsp;km <i>caf&eacute;</i>&hellip;"
    )
    assert written("Hard&shy;ware &amp; &#8203;", "Matériel &").count("&shy;") == 1


def test_xml_writes_numeric_references_as_they_were_and_keeps_its_own_entities() -> None:
    assert (
        written(
            "<a>10&#160;km &amp; caf&#xE9; &apos;x&apos;</a>", "10 km et café 'x'", markup="xml"
        )
        == "<a>10&#160;km &amp; caf&#xE9; &apos;x&apos;</a>"
    )


def test_a_text_with_too_many_references_is_written_without() -> None:
    n = MAX_REFERENCES + 1
    assert written("x&eacute; " * n, "xé " * n + "y") == "xé " * n + "y"
    assert written("x&amp; " * n, "x& " * n + "y") == "x&amp; " * n + "y"


REFERENCES = ["&amp;", "&nbsp;", "&quot;", "&hellip;", "&eacute;", "&#233;", "&#xE9;", "&lt;",
              "&gt;", "&#39;", "&rsquo;", "&shy;", "&mdash;", "&euro;", "&frac12;", "&thinsp;",
              "&ldquo;", "&#10;", "&copy;"]  # fmt: skip
TEXTS = st.lists(
    st.sampled_from([*REFERENCES, " ", "a", "Bob", "et", "7", ".", "é", "…", '"', "'", "\u00a0"]),
    max_size=12,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(
    TEXTS,
    st.text("aé &<>\"'…. \u00a0\u2009½—€«»’7B", max_size=20),
    st.sampled_from(["html", "xml"]),
)
def test_the_text_is_the_translation_whatever_it_has(
    inner: str, translation: str, markup: Format
) -> None:
    if markup == "xml":
        inner = html.unescape(inner).replace("&", "&#38;").replace("<", "&#60;")
    opened = MarkupDocument(f"<p>word {inner}</p>", markup)
    if len(opened.texts) != 1:
        return
    result = opened.with_translations([Answer(translation, None, TO_FRENCH)])
    assert (result[:3], result[-4:], result.count("<")) == ("<p>", "</p>", 2)
    for raw in set(REFERENCES) - {"&amp;", "&lt;", "&gt;", "&rsquo;"}:
        assert result.count(raw) <= inner.count(raw)
    if translation != opened.texts[0]:
        [again] = MarkupDocument(result, markup).texts or [html.unescape(result[3:-4])]
        assert comparable(again) == comparable(translation)


def comparable(text: str) -> str:
    """Return the letters, digits and symbols that references do not change."""
    bare = text.replace("&", "et").replace("…", "").replace("\u00ad", "")
    return "".join(one for one in bare if not one.isspace() and one not in "…\"'’«».").lower()


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_a_copy_is_the_document(inner: str) -> None:
    document = f"<p>word {inner} end</p>"
    opened = MarkupDocument(document, "html")
    [text] = opened.texts
    assert opened.with_translations([Answer(text)]) == document
    spans = [Span(*word) for word in words(text)]
    links = [WordLink(one, one) for one in spans]
    changed = opened.with_translations([Answer(f"{text}.", links, ("en", "en"))])
    for raw in set(REFERENCES) - {"&shy;"}:
        assert changed.count(raw) == document.count(raw), raw


@pytest.mark.parametrize(
    "raw",
    [
        "&amp;",
        "&nbsp;",
        "a&nbsp;b ",
        "&hellip;",
        "x&eacute;",
        "&quot;",
        "&#39; ",
        "&",
        "&#",
        "&shy;",
        "&#1;",
        "&nbsp;x",
        "&lt;b ",
    ],
)
def test_the_time_is_linear(raw: str) -> None:
    def translated(n: int) -> None:
        opened = MarkupDocument(raw * n + " word", "html")
        for text in opened.texts:
            opened.with_translations([Answer(text + " mot", None, TO_FRENCH)])

    assert_linear(translated, 250_000 // len(raw))
