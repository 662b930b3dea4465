import random
from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.errors import UnreadableFileError
from app.text.document import Answer
from app.text.markup import tokens as markup_tokens
from app.text.markup.document import MarkupDocument, MarkupOptions
from app.text.markup.tokens import Format, MarkupError, tokens
from app.text.placeholders import ATOM
from app.text.spans import Span
from app.text.word_links import WordLink
from model.text.words import words
from tests.cases import cases
from tests.linear import assert_linear

WORDS = st.sampled_from(
    ["cat", "The", "l'été", "&amp;", "&lt;b&gt;", "&#233;x", "42", "x&lt;/p&gt;y", "{n}",
     "a&#x27;b", "😀", "漢字", "\ue0000\ue001"]
)  # fmt: skip
TEXT = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
GAP = st.sampled_from(["", " ", "\n  "])


def element(names: list[str], inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    attributes = st.sampled_from(["", ' id="1"', " class='a &amp; b'", ' title="x &lt; y"'])
    return st.builds(
        lambda name, attribute, content: f"<{name}{attribute}>{content}</{name}>",
        st.sampled_from(names), attributes, inner,
    )  # fmt: skip


EXTRAS = st.sampled_from(cases(__file__, "extras"))
PHRASE = st.lists(st.tuples(TEXT | EXTRAS, GAP).map("".join), max_size=4).map("".join)
INLINE = st.recursive(
    PHRASE,
    lambda inner: st.lists(inner | element(["b", "i", "a", "em", "span"], inner), max_size=3).map(
        "".join
    ),
    max_leaves=8,
)
DOCUMENTS = st.recursive(
    INLINE,
    lambda inner: st.lists(
        inner | element(["p", "div", "li", "td"], inner) | st.just("<script>a &lt; x()</script>"),
        max_size=4,
    ).map("".join),
    max_leaves=12,
).map("<div>{}</div>".format)


def scrambled(text: str, chooser: random.Random) -> Answer:
    """Words in any order, some twice, in capitals; each atom once; arbitrary links."""
    atoms = ATOM.findall(text)
    rest = [word.upper() for word in ATOM.sub(" ", text).split()]
    rest += chooser.choices(rest, k=chooser.randint(0, 2)) if rest else []
    mixed = atoms + rest
    chooser.shuffle(mixed)
    answer = " ".join(mixed)
    links: list[WordLink] = []
    if found := [spans_of(text), spans_of(answer)]:
        read, written = found
        links = [
            WordLink(chooser.choice(read), chooser.choice(written), chooser.random() < 0.3)
            for _ in range(8)
            if all(found)
        ]
    return Answer(answer, chooser.choice([links, None]))


def spans_of(text: str) -> list[Span]:
    masked = ATOM.sub(lambda atom: "x" * len(atom[0]), text)
    return [Span(*word) for word in words(masked)]


def tags(document: str, markup: Format) -> Counter[str]:
    return Counter(token.raw for token in tokens(document, markup) if token.kind != "text")


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, st.sampled_from(["html", "xml"]), st.randoms())
def test_any_translation_keeps_the_markup(
    document: str, markup: Format, chooser: random.Random
) -> None:
    opened = MarkupDocument(document, markup)
    answers = [scrambled(text, chooser) for text in opened.texts]
    translated = opened.with_translations(answers)
    ElementTree.fromstring(translated)  # well-formed
    assert tags(translated, markup) == tags(document, markup)
    written = MarkupDocument(translated, markup).texts
    assert letters(written) == letters([answer.text for answer in answers])


def letters(texts: list[str]) -> str:
    # Boundaries between texts are ignored, since in XML they depend on which elements have
    # text beside it; atoms are among the tags.
    return "".join(filter(str.isalpha, ATOM.sub("", "".join(texts))))


@example("</>")
@example("</>x</>")
@given(DOCUMENTS | st.text(max_size=60) | st.text("<>&/!-ab\"'= ;p\n#", max_size=40))
def test_a_document_is_its_tokens_joined(document: str) -> None:
    assert "".join(token.raw for token in tokens(document, "html")) == document
    opened = MarkupDocument(document, "html")
    assert opened.with_translations([Answer(text) for text in opened.texts]) == document


@given(st.text("<>&/!-ab\"'= ;p\n#", max_size=40), st.randoms())
def test_no_soup_gets_more_tags(document: str, chooser: random.Random) -> None:
    opened = MarkupDocument(document, "html")
    translated = opened.with_translations([scrambled(text, chooser) for text in opened.texts])
    assert sum(tags(translated, "html").values()) <= sum(tags(document, "html").values())


def linked(text: str, answer: str, pairs: dict[str, str]) -> Answer:
    def place(of: str, word: str) -> Span:
        start = of.index(word)
        return Span(start, start + len(word))

    return Answer(
        answer, [WordLink(place(text, one), place(answer, other)) for one, other in pairs.items()]
    )


def test_a_guess_is_used_if_nothing_is_known() -> None:
    opened = MarkupDocument("<b>The</b> <i>red</i> <u>car</u>", "html")
    [text] = opened.texts
    answer = "voiture rouge"
    sure = linked(text, answer, {"red": "rouge"}).links or ()
    of_the = WordLink(Span(0, 3), Span(8, 13), is_guess=True)  # linked to "red"
    of_red = WordLink(Span(4, 7), Span(0, 7), is_guess=True)
    of_car = WordLink(Span(8, 11), Span(0, 7), is_guess=True)
    translated = opened.with_translations([Answer(answer, [*sure, of_the, of_red, of_car])])
    assert translated == "<b></b><u>voiture</u> <i>rouge</i>"


@pytest.mark.parametrize(
    ("document", "answer", "pairs", "translated"), cases(__file__, "tags_go_with_their_words")
)
def test_tags_go_with_their_words(
    document: str, answer: str | None, pairs: dict[str, str], translated: str
) -> None:
    opened = MarkupDocument(document, "html")
    if answer is None:
        answers = [Answer(text) for text in opened.texts]
    else:
        [text] = opened.texts
        answers = [linked(text, answer, pairs)]
    assert opened.with_translations(answers) == translated


@pytest.mark.parametrize(("document", "read"), cases(__file__, "texts_in_html"))
def test_texts_in_html(document: str, read: list[str]) -> None:
    assert MarkupDocument(document, "html").texts == read


@pytest.mark.parametrize(
    ("document", "options", "read"),
    [
        ("<r><t>One</t><t>two <x/> <y>three</y></t></r>", {}, ["One", "two three"]),
        ("One <t>two</t>", {}, ["One two"]),
        ("One <t>two</t>", {"splitting": {"t"}}, ["One ", "two"]),
        ("<r><t>One</t> <t>two</t></r>", {"non_splitting": {"t"}}, ["One two"]),
        ("<r><t>One</t><k>two</k></r>", {"ignored": {"k"}}, ["One"]),
        ("One <k>two</k>", {"ignored": {"k"}}, ["One \ue0000\ue001"]),
        ("<r><t>One</t><k>two</k></r>", {"outline": False}, ["Onetwo"]),
        ("<r><t>One</t><k>two</k></r>", {"outline": False, "splitting": {"k"}}, ["One", "two"]),
        ("<!DOCTYPE r [<!ENTITY e 'x'>]><r>One &e; &#50;</r>", {}, ["One \ue0000\ue001 2"]),
        ("<r>One <![CDATA[a < b]]> two</r>", {}, ["One ", " two"]),
    ],
)
def test_texts_in_xml(document: str, options: dict[str, Any], read: list[str]) -> None:
    opened = MarkupDocument(document, "xml", MarkupOptions(**options))
    assert opened.texts == read
    assert opened.with_translations([Answer(text) for text in read]) == document


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("a < b", "line 1, column 4"),
        ("<a>\n<b></a></b>", "line 2, column 6"),
        ("&nbsp;", "line 1, column 1"),
        ('<?xml version="1.0"?><r>', "line 1, column 25"),
    ],
)
def test_malformed_xml_is_refused_with_its_line(document: str, place: str) -> None:
    with pytest.raises(MarkupError, match=place):
        MarkupDocument(document, "xml")


def test_entities_of_a_document_type_are_neither_expanded_nor_fetched() -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">' + (
        '<!ENTITY f SYSTEM "file:///etc/passwd">]><r>Look: &b; &f;</r>'
    )
    opened = MarkupDocument(bomb, "xml")
    assert len(opened.texts[0]) < 30
    assert opened.with_translations([Answer(opened.texts[0].upper())]).endswith(
        "<r>LOOK: &b; &f;</r>"
    )


@pytest.mark.parametrize(
    "document",
    [
        lambda n: "<b>" * n + "cat" + "</b>" * n,
        lambda n: "<b>" * 2 * n + "cat",
        lambda n: "<b>cat</b> dog " * n,
        lambda n: "cat<wbr> " * n,
        lambda n: "<b><i>cat</b></i> " * n,
        lambda n: "<p translate=no>cat" * n,
        lambda n: "&eacute;cat " * n,
        lambda n: "<a " * n,
        lambda n: "<!--" * n,
        lambda n: "</p" * n,
    ],
)
def test_time_is_linear_and_depth_unlimited(document: Callable[[int], str]) -> None:
    def translated(n: int) -> None:
        opened = MarkupDocument(document(n), "html")
        opened.with_translations([Answer(text.upper()) for text in opened.texts])

    assert_linear(translated, 5000)


@pytest.mark.parametrize("markup", ["html", "xml"])
def test_documents_of_too_many_tags_fail(markup: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup_tokens, "MAX_TOKENS", 6)
    assert MarkupDocument("<b>a</b>" * 2, markup).texts
    with pytest.raises(UnreadableFileError, match="may have 6 tags, comments and texts"):
        MarkupDocument("<b>a</b>" * 3, markup)
