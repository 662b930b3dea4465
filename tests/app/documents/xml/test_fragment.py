import re
import tracemalloc

from app.documents.xml.fragment import Vocabulary, marked_paragraphs
from app.text.markup.tokens import xml_tokens
from tests.app.documents.answering import unchanged, uppercased

NAMES = Vocabulary(
    paragraphs=frozenset({"p"}), inline=frozenset({"i"}), breaks=frozenset({"br"}),
    copied=frozenset({"deleted"}), fields="f",
)  # fmt: skip


def test_parts_set_aside_are_restored_at_their_positions() -> None:
    xml = (
        "<a>x<p>one <i>two</i><box><p>three</p></box> <f>4</f> five<br/>six</p>"
        '<deleted><p>not this</p></deleted><p>and <i translate="no">Seven</i></p></a>'
    )
    opened = marked_paragraphs(xml_tokens(xml), NAMES)
    assert opened.texts == ["one two \ue0000\ue001 five", "six", "three", "and \ue0000\ue001"]
    assert unchanged(opened) == xml
    expected = xml
    for text in ("one", "two", "three", "five", "six", "and"):
        expected = expected.replace(f"{text}", text.upper())
    assert uppercased(opened) == expected


def test_elements_named_like_those_set_aside_are_not_confused() -> None:
    xml = '<a><p>one <_0/><_7/><_1 translate="no">_</_1> two <box>x</box></p></a>'
    opened = marked_paragraphs(xml_tokens(xml), NAMES)
    assert unchanged(opened) == xml
    written = uppercased(opened)
    assert sorted(re.findall("<[^>]*>", written)) == sorted(re.findall("<[^>]*>", xml))
    assert re.sub("<[^>]*>|\\s", "", written) == "ONE_TWOx"


def test_paragraphs_nested_too_deeply_are_copied() -> None:
    xml = "<p>a<box>" * 10 + "</box></p>" * 10
    opened = marked_paragraphs(xml_tokens(xml), NAMES)
    assert opened.texts == ["a"] * 4
    assert unchanged(opened) == xml


def test_a_paragraphs_tokens_are_not_in_memory_twice() -> None:
    xml = "<p>" + "<i>a</i>" * 4_000 + "</p>"
    tracemalloc.start()
    try:
        opened = marked_paragraphs(xml_tokens(xml), NAMES)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert opened.texts == ["a" * 4_000]
    assert peak < 95 * len(xml)  # 77, and 119 with both lists
