"""Every format reads or refuses any content."""

import random
import re
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.documents.files import FORMATS, MAX_LINES, SUFFIXES, file_format
from app.documents.json_strings import MAX_VALUES
from app.errors import UnreadableFileError
from app.text.document import Answer
from app.translation.file_service import translated_name
from tests.app.documents.answering import unchanged, uppercased
from tests.app.documents.archives import PARTS, sample_archive
from tests.app.documents.test_catalogue import CATALOGUE
from tests.app.documents.test_markdown import README
from tests.app.documents.test_prose import LIST, WRAPPED
from tests.app.documents.test_subtitles import FILM, WEB_FILM
from tests.app.documents.word_xml import archive, run, word_file
from tests.app.documents.xml.test_xliff import XLIFF_1, XLIFF_2

SAMPLES = {
    ".txt": WRAPPED + LIST,
    ".html": "<!DOCTYPE html><p class=x>The <b>old</b> cat &amp; dog<br>é</p><script>1<2</script>",
    ".xml": '<?xml version="1.0"?><!-- c --><r a="b"><t>The <b>old</b> cat</t><![CDATA[<]]></r>',
    ".md": README,
    ".srt": FILM,
    ".vtt": WEB_FILM,
    ".csv": 'id,The name\n1,"The ""old"" cat, and\nthe dog"\n2,btn_ok\n',
    ".tsv": "id\tname\n1\tThe old cat\n",
    ".po": CATALOGUE,
    ".json": '{"a": ["The old cat", 1.50, null], "b": {"c": "\\u00e9t\\u00e9 \\/ hiver"}}',
    ".xlf": XLIFF_1,
    ".xliff": XLIFF_2,
}
FILLED = (".po", ".xlf", ".xliff")
"""Formats with fields for translations, which unchanged texts fill, too."""


def test_there_is_a_sample_of_every_format() -> None:
    assert {*SAMPLES, *PARTS, ".pdf"} == set(SUFFIXES)


def test_the_table_of_the_documentation_has_every_format() -> None:
    rows = re.findall(r"^\| (`\..*?) \|", Path("docs/files.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(re.findall(r"`(\.\w+)`", " ".join(rows))) == sorted(SUFFIXES)


@pytest.mark.parametrize("suffix", SAMPLES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_and_line_ends_stay(suffix: str, line_end: str, encoding: str) -> None:
    data = SAMPLES[suffix].replace("\n", line_end).encode(encoding)
    plain = SAMPLES[suffix].encode()
    opened, sample = (file_format("a" + suffix).open(one) for one in (data, plain))
    assert opened.texts == sample.texts
    if suffix not in FILLED:
        assert unchanged(opened) == data
    expected = uppercased(sample).decode().replace("\n", line_end).encode(encoding)
    assert uppercased(opened) == expected


@pytest.mark.parametrize("name", ["a.doc", "docx", ".docx", "a", "a.docx.exe", ""])
def test_other_files_are_refused(name: str) -> None:
    with pytest.raises(
        UnreadableFileError, match=r"file extension should be one of \.txt, .*\.docx"
    ):
        file_format(name)


@settings(max_examples=400)
@given(st.sampled_from(sorted(SAMPLES)), st.randoms(use_true_random=False))
def test_a_damaged_file_is_refused_or_read(suffix: str, chooser: random.Random) -> None:
    read(suffix, damaged(SAMPLES[suffix].encode(), chooser))


@settings(max_examples=300)
@given(st.sampled_from(sorted(PARTS)), st.randoms(use_true_random=False))
def test_a_damaged_archive_is_refused_or_read(suffix: str, chooser: random.Random) -> None:
    read(suffix, damaged(sample_archive(suffix), chooser))
    name = chooser.choice(sorted(PARTS[suffix]))
    content = PARTS[suffix][name]
    assert isinstance(content, str)
    read(suffix, archive(PARTS[suffix] | {name: damaged(content.encode(), chooser)}))


def damaged(data: bytes, chooser: random.Random) -> bytes:
    """Omit, repeat or overwrite a few pieces."""
    for _ in range(chooser.randint(1, 4)):
        start = chooser.randrange(len(data) + 1)
        end = min(len(data), start + chooser.choice([0, 1, 1, 5, 40]))
        instead = chooser.choice(
            [
                b"",
                data[start:end] * 2,
                b"<",
                b"</w:p>",
                b"<w:p>",
                b"*",
                b'"',
                b"\\",
                b"\n\n",
                b"\xff",
            ]
        )
        data = data[:start] + instead + data[end:]
    return data


def read(suffix: str, data: bytes) -> None:
    try:
        opened = file_format(Path("a").with_suffix(suffix).name).open(data)
    except UnreadableFileError:
        return
    if suffix not in FILLED:
        assert unchanged(opened) == data
    file_format("a" + suffix).open(uppercased(opened))


@pytest.mark.parametrize("suffix", [".txt", ".md", ".srt", ".vtt", ".csv", ".po"])
def test_too_many_lines_are_refused_before_they_are_read(suffix: str) -> None:
    """Ten million empty lines would take gigabytes."""
    data = b"\n" * (MAX_LINES + 1)
    with pytest.raises(UnreadableFileError, match="a file may have 250,000 lines"):
        FORMATS[suffix].open(data)


@pytest.mark.parametrize("unit", ["[],", '"ab",'])
def test_json_of_too_many_values_is_refused_before_they_are_made(unit: str) -> None:
    data = "[" + unit * (MAX_VALUES + 1) + "0]"
    with pytest.raises(UnreadableFileError, match="may have 500,000 arrays and strings each"):
        FORMATS[".json"].open(data.encode())


ESCAPES = 50_000


@pytest.mark.parametrize(
    ("suffix", "data"),
    [
        (".json", b'["' + rb"\u00e9" * ESCAPES + b'"]'),
        (".po", b'msgid "a ' + rb"\"" * ESCAPES + b'"\nmsgstr ""\n'),
        (".html", b"&eacute;" * ESCAPES),
        (".html", b"&lt;b " + b"a " * ESCAPES),
        (".html", ("a" + "\u2009" * ESCAPES).encode()),
        (".docx", word_file(run("a " + "` " * ESCAPES))),
        (
            ".xlsx",
            sample_archive(
                ".xlsx",
                text=f"<sst><si><t>a {'` ' * ESCAPES}</t></si></sst>",
                **{"sheet.xml": "<worksheet/>"},
            ),
        ),
        (".odt", sample_archive(".odt", text=f"<o><text:p>a {'&#233; ' * ESCAPES}</text:p></o>")),
        (".csv", b'"a ' + b'""' * ESCAPES + b'"'),
    ],
)
def test_one_long_text_takes_little_memory(suffix: str, data: bytes) -> None:
    """A single text without tags; see also `test_a_word_takes_few_bytes`."""
    file_format("a" + suffix).open(data)  # one-time initialisation
    tracemalloc.start()
    try:
        opened = file_format("a" + suffix).open(data)
        [text] = opened.texts
        opened.with_translations([Answer(text + "é")])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 40 * len(text) + 10 * FORMATS[suffix].size(data)


def test_the_translation_of_a_format_that_is_only_read_has_another() -> None:
    assert translated_name("a/Report.PDF", "fr") == "Report.fr.txt"
    assert translated_name("report.docx", "fr") == "report.fr.docx"


def test_the_size_of_a_word_document_is_that_of_its_parts() -> None:
    text = "a house " * 10_000
    data = word_file(run(text))
    assert len(data) < len(text) / 10
    assert len(text) < FORMATS[".docx"].size(data) < len(text) + len(data) + 2000
    assert FORMATS[".txt"].size(b"12345") == 5
    with pytest.raises(UnreadableFileError, match="the archive is damaged"):
        FORMATS[".docx"].size(b"no archive")


@pytest.mark.parametrize(("suffix", "root"), [(".xml", b""), (".xlf", b'<xliff version="1.2">')])
def test_elements_nested_without_end_are_refused_before_they_are_kept(
    suffix: str, root: bytes
) -> None:
    with pytest.raises(UnreadableFileError, match="nested more than 100,000 deep"):
        file_format("a" + suffix).open(root + b"<a>" * 150_000)
    fine = b"<a>" * 99_000 + b"a text" + b"</a>" * 99_000
    assert file_format("a.xml").open(fine).texts == ["a text"]


@pytest.mark.parametrize(
    ("translation", "becomes"),
    [("Gdańsk", "ISO-8859-2"), ("Œuvre 漢", "UTF-8")],
)
def test_a_catalogue_is_in_the_encoding_that_it_declares(translation: str, becomes: str) -> None:
    head = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={}\\n"\n\nmsgid "łódź"\n'
    opened = file_format("a.po").open(f'{head}msgstr ""\n'.format("ISO-8859-2").encode("latin2"))
    assert opened.texts == ["łódź"]
    written = f'{head}msgstr "{translation}"\n'.format(becomes).encode(becomes)
    assert opened.with_translations([Answer(translation)]) == written
