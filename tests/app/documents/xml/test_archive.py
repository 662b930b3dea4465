import io
import re
import zipfile
from contextlib import suppress

import docx
import pytest
from docx.document import Document

from app.documents.files import FORMATS
from app.documents.xml.archive import MAX_ENTRIES, MAX_TAGS, MAX_UNPACKED_BYTES
from app.errors import UnreadableFileError
from tests.app.documents.answering import unchanged, uppercased
from tests.app.documents.archives import PARTS, sample_archive
from tests.app.documents.word_xml import (
    CONTENTS,
    archive,
    document,
    open_word,
    part,
    run,
    word_file,
)
from tests.linear import assert_linear


@pytest.fixture
def report() -> bytes:
    """A document as python-docx writes it."""
    written = docx.Document()
    written.add_heading("The report", 1)
    paragraph = written.add_paragraph("The Commission ")
    paragraph.add_run("strongly").bold = True
    paragraph.add_run(" agrees.")
    written.add_paragraph("An item", style="List Bullet")
    table = written.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Country", "10"
    written.sections[0].header.paragraphs[0].text = "Confidential"
    written.sections[0].footer.paragraphs[0].text = "The end"
    target = io.BytesIO()
    written.save(target)
    return target.getvalue()


def read(data: bytes) -> Document:
    return docx.Document(io.BytesIO(data))


def entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {entry.filename: file.read(entry) for entry in file.infolist()}


def test_a_document_without_changes_is_identical(report: bytes) -> None:
    assert unchanged(open_word(report)) == report


def test_paragraphs_tables_headers_and_footers_are_translated(report: bytes) -> None:
    written = read(uppercased(open_word(report)))
    runs = [[(run.text, run.bold) for run in one.runs] for one in written.paragraphs]
    assert runs == [
        [("THE REPORT", None)],
        [("THE COMMISSION ", None), ("STRONGLY", True), (" AGREES.", None)],
        [("AN ITEM", None)],
    ]
    assert [one.style.name for one in written.paragraphs if one.style] == [
        "Heading 1", "Normal", "List Bullet",
    ]  # fmt: skip
    assert [cell.text for cell in written.tables[0].rows[0].cells] == ["COUNTRY", "10"]
    assert written.sections[0].header.paragraphs[0].text == "CONFIDENTIAL"
    assert written.sections[0].footer.paragraphs[0].text == "THE END"


def test_all_other_parts_stay_byte_for_byte(report: bytes) -> None:
    before, after = entries(report), entries(uppercased(open_word(report)))
    assert list(before) == list(after)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"word/document.xml", "word/header1.xml", "word/footer1.xml"}


def test_notes_are_translated() -> None:
    kind = CONTENTS.replace("document.main", "footnotes").replace("document.xml", "notes.xml")
    override = kind[kind.index("<Override") : kind.index("<Override ContentType")]
    data = archive(
        {
            "[Content_Types].xml": CONTENTS.replace("</Types>", f"{override}</Types>"),
            "word/document.xml": document(run("one")),
            "word/notes.xml": "\ufeff" + document(run("two")),
        }
    )
    assert open_word(data).texts == ["one", "two"]
    assert "TWO" in part(uppercased(open_word(data)), "word/notes.xml")


def broken(name: str, content: str | bytes) -> bytes:
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": CONTENTS,
        "word/document.xml": document(run("a")),
    }
    return archive(parts | {name: content})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04 nothing", "the archive is damaged"),
        (b"\xd0\xcf\x11\xe0 an old .doc", "the archive is damaged"),
        (word_file(run("a"))[:-30], "the archive is damaged"),
        (archive({"a.txt": "x"}), r"\[Content_Types\].xml is missing"),
        (archive({"[Content_Types].xml": "<Types/>"}), "parts with text are missing"),
        (archive({"[Content_Types].xml": CONTENTS}), "word/document.xml is missing in the archive"),
        (
            broken("word/document.xml", "<w:p>"),
            "word/document.xml: not well-formed XML: mismatched tag",
        ),
        (broken("word/document.xml", b"<a>\xff</a>"), "word/document.xml: not UTF-8"),
        (
            broken("word/document.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
            "word/document.xml: definitions of entities are not allowed",
        ),
        (broken("[Content_Types].xml", "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>"), "not allowed"),
        (archive({str(n): "" for n in range(MAX_ENTRIES + 1)}), "more than 10,000 entries"),
    ],
)
def test_errors_in_word_documents_are_reported(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        open_word(data)


def test_a_bomb_is_not_unpacked() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("[Content_Types].xml", CONTENTS)
        with file.open("word/document.xml", "w") as entry:
            for _ in range(MAX_UNPACKED_BYTES // 10**7 + 1):
                entry.write(bytes(10**7))
    assert len(target.getvalue()) < 10**6
    for suffix in PARTS:
        with pytest.raises(UnreadableFileError, match="unpacks to more than 200,000,000 bytes"):
            FORMATS[suffix].open(target.getvalue())


WITH_TEXT = {
    ".docx": {"word/document.xml"}, ".pptx": {"slide.xml"}, ".xlsx": {"strings.xml", "sheet.xml"},
    ".odt": {"content.xml"}, ".odp": {"content.xml"}, ".ods": {"content.xml"},
    ".epub": {"OPS/the page.xhtml", "OPS/toc.ncx"},
}  # fmt: skip
NAMES = {".docx": "w:p", ".pptx": "a:p", ".xlsx": "si", ".epub": "p"}


@pytest.mark.parametrize("suffix", PARTS)
@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        ("<{p}/>" * (MAX_TAGS + 1), "may have 500,000 tags"),
        (" " * 20_000_001, "more than 20,000,000 bytes"),
        ("<{p}>" + "<a>" * 200 + "</a>" * 200 + "</{p}>", "nested more than 100 deep"),
        ("<{p}>" + "<b>x</b>" * 20_000 + "</{p}>", "may have 50,000 tags and texts"),
        ("<{p}>a", "not well-formed XML"),
    ],
    ids=["tags", "bytes", "depth", "paragraph", "syntax"],
)
def test_every_format_has_the_limits(suffix: str, xml: str, reason: str) -> None:
    name = NAMES.get(suffix, "text:p")
    data = sample_archive(suffix, text=f"<a>{xml.replace('{p}', name)}</a>")
    if suffix == ".epub" and not re.search("500,000|bytes", reason):
        FORMATS[suffix].open(data)  # HTML may be nested to any depth
        return
    with pytest.raises(UnreadableFileError, match=reason):
        FORMATS[suffix].open(data)


@pytest.mark.parametrize("suffix", PARTS)
def test_files_that_are_not_archives_of_the_format(suffix: str) -> None:
    for data in (b"PK\x03\x04", b"", archive({"a.txt": "x"}), sample_archive(suffix)[:-9]):
        with pytest.raises(UnreadableFileError, match=r"missing|damaged"):
            FORMATS[suffix].open(data)
    with pytest.raises(UnreadableFileError, match="not UTF-8"):
        FORMATS[suffix].open(sample_archive(suffix, text=b"<a>\xff</a>"))


@pytest.mark.parametrize("suffix", PARTS)
def test_in_capitals_nothing_but_the_texts_changes(suffix: str) -> None:
    data = sample_archive(suffix)
    opened = FORMATS[suffix].open(data)
    assert "The old cat" in opened.texts
    assert "not this" not in " ".join(opened.texts)
    assert unchanged(opened) == data
    before, after = entries(data), entries(uppercased(opened))
    assert list(before) == list(after)
    assert {name for name in before if before[name] != after[name]} == WITH_TEXT[suffix]


def test_a_large_part_is_not_read() -> None:
    with pytest.raises(UnreadableFileError, match="have more than 20,000,000 bytes"):
        open_word(broken("word/document.xml", bytes(20_000_001)))
    with pytest.raises(UnreadableFileError, match="have more than 20,000,000 bytes"):
        open_word(broken("[Content_Types].xml", bytes(20_000_001)))


@pytest.mark.parametrize("unit", ["<w:p/>", "<a/>", "<w:p></w:p>"])
def test_a_part_of_many_tags_is_not_read(unit: str) -> None:
    xml = document().replace("<w:body>", "<w:body>" + unit * (MAX_TAGS + 1))
    with pytest.raises(UnreadableFileError, match="may have 500,000 tags"):
        open_word(broken("word/document.xml", xml))
    contents = CONTENTS.replace("<Override", unit.replace("w:", "") * (MAX_TAGS + 1) + "<Override")
    with pytest.raises(UnreadableFileError, match="may have 500,000 tags"):
        open_word(broken("[Content_Types].xml", contents))


def test_time_is_linear_in_the_number_of_paragraphs() -> None:
    def opened(n: int) -> None:
        xml = document().replace("<w:body>", "<w:body>" + "<w:p/>" * n)
        open_word(broken("word/document.xml", xml))

    assert_linear(opened, 50_000)


@pytest.mark.parametrize("unit", ["a.", "a ", "a='b' ", "<b a='c'/>"])
def test_time_is_linear_in_the_length_of_a_list_of_parts(unit: str) -> None:
    def opened(n: int) -> None:
        tag = unit if unit.startswith("<") else f"<x {unit}/>"
        xml = CONTENTS.replace("<Override", tag.replace(unit, unit * n) + "<Override", 1)
        with suppress(UnreadableFileError):  # an attribute without a value, or twice the same
            open_word(broken("[Content_Types].xml", xml))

    assert_linear(opened, 20_000)


def test_a_match_may_span_two_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.documents.xml.archive.CHUNK_BYTES", 7)
    assert "an inline text" in FORMATS[".xlsx"].open(sample_archive(".xlsx")).texts


def test_a_part_that_is_listed_often_is_one_part() -> None:
    """A linear search for each entry took minutes."""
    line = CONTENTS.partition("<Override")[2].partition("/>")[0]
    contents = CONTENTS.replace("<Override", f"<Override{line}/>" * 10_000 + "<Override", 1)
    assert len(open_word(broken("[Content_Types].xml", contents)).texts) == 1


def test_a_damaged_entry_is_reported_before_the_archive_is_copied() -> None:
    data = bytearray(word_file(run("a")))
    data[data.index(b"\x89PNG")] ^= 1
    with pytest.raises(UnreadableFileError, match=r"word/media/image.png is damaged"):
        open_word(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_other_methods_of_compression_are_refused(method: int, is_damaged: bool) -> None:
    """Their errors are neither `zlib.error` nor `ValueError`, and LZMA may take 4 GB."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as file:
        for name, content in PARTS[".docx"].items():
            file.writestr(name, content, zipfile.ZIP_STORED if method == 9 else method)
    data = bytearray(target.getvalue())
    if method == 9:  # deflate64, which Python does not write
        at = data.index(b"PK\x01\x02") + 10
        data[at : at + 2] = b"\x09\x00"
    if is_damaged:
        data[60:70] = b"x" * 10
    with pytest.raises(
        UnreadableFileError, match=r"\[Content_Types\].xml is compressed by another"
    ):
        open_word(bytes(data))


def test_encrypted_and_ambiguous_archives_are_refused() -> None:
    data = bytearray(word_file(run("a")))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(UnreadableFileError, match="encrypted"):
        open_word(bytes(data))
    target = io.BytesIO(word_file(run("a")))
    with zipfile.ZipFile(target, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("word/document.xml", "")
    with pytest.raises(UnreadableFileError, match="two entries with the same name"):
        open_word(target.getvalue())
