"""PowerPoint and Excel; Word is in `test_run_paragraph`."""

import re

import pytest

from app.documents.files import FORMATS
from tests.app.documents.answering import translated, uppercased
from tests.app.documents.archives import PARTS, SHEET, SLIDE, STRINGS, sample_archive
from tests.app.documents.word_xml import CONTENTS, part


def test_slides_keep_their_formatting_numbers_and_ends() -> None:
    opened = FORMATS[".pptx"].open(sample_archive(".pptx"))
    assert opened.texts == ["The old cat", "a & b\ue0000\ue001"]
    written = part(uppercased(opened), "slide.xml")
    expected = SLIDE.replace(' lang="en-US" sz', " sz")
    for text in ("The ", "old", " cat"):
        expected = expected.replace(f"<a:t>{text}<", f"<a:t>{text.upper()}<")
    assert written == expected.replace("a &amp; b", "A &amp; B")
    assert written.endswith('<a:endParaRPr lang="en-US"/></a:p></p:txBody></p:sld>')
    assert "xml:space" not in written  # PowerPoint refuses it


def test_cells_keep_formulas_numbers_lines_and_headings_of_tables() -> None:
    opened = FORMATS[".xlsx"].open(sample_archive(".xlsx"))
    assert opened.texts == ["The old cat", "The dog", "two", "lines", "an inline text"]
    data = uppercased(opened)
    bare = '<si><t xml:space="preserve">THE OLD CAT</t></si><si><t>Price</t></si>'
    assert bare in (strings := part(data, "strings.xml"))
    assert "<rPr><b/></rPr><t" in strings
    lines = [f'<r><t xml:space="preserve">{text}</t></r>' for text in ("TWO", "\n", "LINES")]
    assert f'<si>{"".join(lines)}<phoneticPr fontId="1"/></si>' in strings
    assert strings.endswith("<si><t>12</t></si></sst>")
    sheet = SHEET.replace("<t>an inline text", '<t xml:space="preserve">AN INLINE TEXT')
    assert part(data, "sheet.xml") == sheet
    assert STRINGS.count("<si>") == strings.count("<si>")


def test_a_content_type_may_be_that_of_the_extension() -> None:
    """As in files of the Open XML SDK, whose other parts are listed."""
    main = r'<Override PartName="/word/document.xml" (ContentType="[^"]*")/>'
    contents = re.sub(main, r'<Default Extension="XML" \1/>', CONTENTS)
    assert contents != CONTENTS
    data = sample_archive(".docx", **{"[Content_Types].xml": contents})
    opened = FORMATS[".docx"].open(data)
    assert opened.texts == FORMATS[".docx"].open(sample_archive(".docx")).texts
    assert part(uppercased(opened), "[Content_Types].xml") == contents


def test_names_of_parts_ignore_case() -> None:
    listed = CONTENTS.replace("/word/document.xml", "/word/Document.xml")
    data = sample_archive(".docx", **{"[Content_Types].xml": listed})
    assert "THE OLD CAT" in re.sub("<[^>]*>", "", part(uppercased(FORMATS[".docx"].open(data))))


@pytest.mark.parametrize("end", ["_x000a_", "_x000D__x000A_", "&#10;", "&#13;&#10;"])
def test_headings_of_tables_may_have_lines(end: str) -> None:
    strings = "<sst><si><t>2023\nUnit\nprice</t></si><si><t>The cat</t></si></sst>"
    table = f'<table><tableColumn name="2023{end}Unit{end}price"/></table>'
    data = sample_archive(".xlsx", **{"strings.xml": strings, "table.xml": table})
    assert FORMATS[".xlsx"].open(data).texts == ["The cat", "an inline text"]


def test_carriage_returns_of_cells_end_a_line() -> None:
    strings = "<sst><si><t>The cat_x000D_\nA dog_x000D_</t></si></sst>"
    opened = FORMATS[".xlsx"].open(sample_archive(".xlsx", text=strings))
    assert opened.texts == ["The cat", "A dog", "an inline text"]
    written = part(uppercased(opened), "strings.xml")
    assert re.sub("<[^>]*>", "", written) == "THE CAT_x000D_\nA DOG_x000D_"


def test_an_empty_presentation_and_a_sheet_of_numbers_have_no_texts() -> None:
    for suffix, name in ((".pptx", "slide.xml"), (".xlsx", "strings.xml")):
        changed = {name: "<a/>"} | ({"sheet.xml": "<a/>"} if suffix == ".xlsx" else {})
        data = sample_archive(suffix, **changed)
        assert FORMATS[suffix].open(data).texts == []


def test_a_large_sheet_of_numbers_is_not_parsed() -> None:
    cells = "<c><v>1</v></c>" * 200_000
    data = sample_archive(".xlsx", **{"sheet.xml": f"<worksheet>{cells}</worksheet>"})
    assert FORMATS[".xlsx"].open(data).texts == ["The old cat", "The dog", "two", "lines"]


def test_a_translation_is_escaped() -> None:
    for suffix, name in ((".pptx", "slide.xml"), (".xlsx", "strings.xml")):
        opened = FORMATS[suffix].open(sample_archive(suffix))
        written = part(translated(opened, lambda _: "</a:t></t>\x00&"), name)
        assert "&lt;/a:t&gt;&lt;/t&gt;&amp;" in written
        assert FORMATS[suffix].open(sample_archive(suffix, text=written)).texts
    assert PARTS
