import random
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.documents.xml import paragraphs, run_paragraph
from app.errors import UnreadableFileError
from app.text.document import Answer
from app.text.placeholders import ATOM
from app.text.spans import Span
from app.text.word_links import WordLink
from tests.app.documents.answering import translated, unchanged, uppercased
from tests.app.documents.word_xml import body, document, open_word, part, run, word_file

BOLD, LINK = "<w:b/>", '<w:rStyle w:val="Link"/>'


def char(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def instruction(text: str) -> str:
    return f"<w:r><w:instrText>{text}</w:instrText></w:r>"


@pytest.mark.parametrize(
    ("paragraph", "texts"),
    [
        (run("The wea") + "<w:proofErr/>" + run("ther.", '<w:lang w:val="en"/>'), ["The weather."]),
        (run("a &lt; b") + run(" &amp;c", BOLD), ["a < b &c"]),
        ("<w:r><w:t> trimmed </w:t></w:r>", ["trimmed"]),
        ("<w:r><w:t>one</w:t><w:tab/><w:t>two</w:t><w:br/><w:t>3</w:t></w:r>", ["one", "two"]),
        ("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t></w:r>", ["a\u2011b"]),
        ("<w:del><w:r><w:delText>old</w:delText></w:r></w:del>" + run("new"), ["new"]),
        ("<w:ins>" + run("new ") + "</w:ins>" + run("text"), ["new text"]),
        (
            "<w:sdt><w:sdtPr/><w:sdtContent>" + run("in it") + "</w:sdtContent></w:sdt>",
            ["in it"],
        ),
        (run("of ") + "<m:oMath><m:t>x</m:t></m:oMath>", ["of \ue0000\ue001"]),
        (
            run("see ") + char("begin") + instruction(" PAGE ") + char("separate") + run("12")
            + char("end"),
            ["see \ue0000\ue001"],
        ),
        (
            char("begin") + instruction(' HYPERLINK "x" ') + char("separate") + run("the link")
            + char("end"),
            ["the link"],
        ),
        (run("before") + char("separate") + run("behind") + char("end"), ["before", "behind"]),
        (run("42"), []),
        ("", []),
    ],
)  # fmt: skip
def test_texts_of_a_document(paragraph: str, texts: list[str]) -> None:
    data = word_file(paragraph)
    opened = open_word(data)
    assert opened.texts == texts
    assert unchanged(opened) == data


INS = "<w:ins>{}</w:ins>"
BOX = "<w:r><w:pict><w:p>{}</w:p></w:pict></w:r>"
LINK = (
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK</w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r>{}<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
CONTROL = "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>"


def nest(element: str, times: int) -> bytes:
    start, _, end = element.partition("{}")
    return word_file(start * times + run("a") + end * times)


@pytest.mark.parametrize("element", [INS, BOX, LINK, CONTROL])
def test_text_a_few_elements_in_is_translated(element: str) -> None:
    assert "A" in body(uppercased(open_word(nest(element, 3))))


@pytest.mark.parametrize("element", [INS, BOX, LINK, CONTROL])
def test_text_nested_deeper_is_not_translated(element: str) -> None:
    data = nest(element, 25)
    opened = open_word(data)
    assert opened.texts == []
    assert unchanged(opened) == data


@pytest.mark.parametrize("element", [INS, BOX, CONTROL])
def test_deep_nesting_is_refused_unparsed(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_paragraph, "_Paragraph", None)
    with pytest.raises(UnreadableFileError, match="nested more than 100 deep"):
        open_word(nest(element, 3000))


def test_links_within_links_are_taken_apart_to_a_bounded_depth() -> None:
    data = nest(LINK, 2000)
    assert unchanged(open_word(data)) == data


def test_the_tags_and_texts_of_a_paragraph_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paragraphs, "MAX_TOKENS", 100)
    assert open_word(word_file(*[run("a") * 10] * 50)).texts == ["a" * 10] * 50
    with pytest.raises(UnreadableFileError, match="may have 100 tags and texts"):
        open_word(word_file(run("a") * 30))


def test_formatting_follows_its_words() -> None:
    paragraph = run("The ") + run("red", BOLD) + run(" car")
    [text] = (opened := open_word(word_file(paragraph))).texts
    words = {"The": "La", "red": "rouge", "car": "voiture"}
    answer = "La voiture rouge"
    links = [
        WordLink(
            Span(text.index(word), text.index(word) + len(word)),
            Span(answer.index(other), answer.index(other) + len(other)),
        )
        for word, other in words.items()
    ]
    written = opened.with_translations([Answer(answer, links)])
    assert body(written) == run("La voiture ") + run("rouge", BOLD)


def test_elements_around_runs_keep_their_content_and_formatting() -> None:
    link = f'<w:hyperlink r:id="r1">{run("the report", LINK)}</w:hyperlink>'
    written = uppercased(open_word(word_file(run("read ") + link + run(" now"))))
    assert body(written) == run("READ ") + link.replace("the report", "THE REPORT") + run(" NOW")


def test_properties_of_the_paragraph_breaks_and_notes_stay() -> None:
    front = '<w:pPr><w:pStyle w:val="Title"/></w:pPr>'
    note = "<w:r><w:rPr><w:vertAlign/></w:rPr><w:footnoteReference/></w:r>"
    written = uppercased(
        open_word(word_file(front + run("one") + note + "<w:r><w:tab/></w:r>" + run("two")))
    )
    assert body(written) == front + run("ONE") + note + "<w:r><w:tab/></w:r>" + run("TWO")


def test_only_the_raised_part_of_a_word_is_raised() -> None:
    paragraph = run("about 20 m") + run("2", "<w:sup/>") + run(" here")
    assert body(uppercased(open_word(word_file(paragraph)))) == (
        run("ABOUT 20 M") + run("2", "<w:sup/>") + run(" HERE")
    )


def test_text_boxes_within_a_paragraph_are_translated_too() -> None:
    box = f"<w:pict><w:txbxContent><w:p>{run('inside')}</w:p></w:txbxContent></w:pict>"
    paragraph = run("outside") + f"<w:r><w:rPr><w:b/></w:rPr>{box}</w:r>"
    opened = open_word(word_file(paragraph))
    assert opened.texts == ["outside", "inside"]
    assert body(uppercased(opened)) == paragraph.replace("inside", "INSIDE").replace(
        "outside", "OUTSIDE"
    )
    only_inside = opened.with_translations([Answer("outside"), Answer("dedans")])
    assert body(only_inside) == paragraph.replace("inside", "dedans")


def test_a_tag_that_a_model_writes_is_text() -> None:
    written = translated(open_word(word_file(run("a"))), lambda _: "</w:t>\x00\ue0020\ue003&\ud800")
    assert body(written) == run("&lt;/w:t&gt;0&amp;")
    ElementTree.fromstring(part(written))


PIECES = st.sampled_from(
    [
        run("one "), run("two", BOLD), run(" "), run("three &amp; ", "<w:i/>"), run("x"),
        '<w:bookmarkStart w:id="1"/>', '<w:bookmarkEnd w:id="1"/>', "<w:r><w:tab/></w:r>",
        "<m:oMath><m:r/></m:oMath>", char("begin"), instruction(" REF a "),
        instruction(" HYPERLINK a "), char("separate"), char("end"), "<w:proofErr/>",
        '<w:r><w:footnoteReference w:id="2"/></w:r>',
        f"<w:r><w:pict><w:p>{run('box')}</w:p></w:pict></w:r>",
    ]
)  # fmt: skip
PARAGRAPH = st.recursive(
    PIECES,
    lambda inner: st.lists(
        inner
        | inner.map("<w:hyperlink>{}</w:hyperlink>".format)
        | inner.map("<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>".format),
        max_size=6,
    ).map("".join),
    max_leaves=14,
)


@settings(max_examples=200)
@given(st.lists(PARAGRAPH, max_size=3), st.randoms())
def test_everything_but_text_is_kept_once(paragraphs: list[str], chooser: random.Random) -> None:
    data = word_file(*paragraphs)
    opened = open_word(data)
    assert unchanged(opened) == data

    def scrambled(text: str) -> str:
        words = [*ATOM.findall(text), *ATOM.sub(" ", text).upper().split()]
        chooser.shuffle(words)
        return " ".join(words)

    written = part(translated(opened, scrambled))
    before, after = ElementTree.fromstring(document(*paragraphs)), ElementTree.fromstring(written)
    assert _objects(after) == _objects(before)
    assert _letters(after) == _letters(before)


def _objects(root: ElementTree.Element) -> list[str]:
    left_out = {"r", "rPr", "t", "b", "i", "proofErr"}
    names = (re.sub(r"\{.*\}", "", element.tag) for element in root.iter())
    return sorted(name for name in names if name not in left_out)


def _letters(root: ElementTree.Element) -> str:
    return "".join(sorted("".join(root.itertext()).upper().replace(" ", "")))
