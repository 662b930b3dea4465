"""Documents with other prefixes than Office and LibreOffice write."""

import re

import pytest

from app.documents.files import FORMATS
from tests.app.documents.answering import unchanged, uppercased
from tests.app.documents.archives import PARTS, TEXT_PART, sample_archive
from tests.app.documents.word_xml import part, run, word_file

OFFICE = "http://schemas.openxmlformats.org/"
STRICT = "http://purl.oclc.org/ooxml/"
URN = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = {
    ".docx": {"w": OFFICE + "wordprocessingml/2006/main", "m": OFFICE + "officeDocument/2006/math"},
    ".pptx": {"a": OFFICE + "drawingml/2006/main", "p": OFFICE + "presentationml/2006/main"},
    ".xlsx": {"": OFFICE + "spreadsheetml/2006/main"},
    ".odt": {"text": URN + "text:1.0", "office": URN + "office:1.0"},
    ".epub": {"": "http://www.daisy.org/z3986/2005/ncx/"},
}
"""Of the part with texts; of EPUB, that of the table of contents."""

PART = TEXT_PART | {".epub": "OPS/toc.ncx"}


def with_prefixes(xml: str, namespaces: dict[str, str], prefixes: dict[str, str]) -> str:
    """Rename the prefixes of elements and attributes, and declare them in the root."""
    xml = re.sub(r"""\sxmlns(:\w+)?="[^"]*\"""", "", xml)

    def renamed(match: re.Match[str]) -> str:
        prefix, local = match[2].rstrip(":"), match[3]
        prefix = prefixes.get(prefix, prefix)
        return match[1] + (f"{prefix}:{local}" if prefix else local)

    xml = re.sub(r"(</?)(\w+:|)(\w+)", renamed, xml)
    declared = " ".join(
        f'xmlns{":" if prefixes[usual] else ""}{prefixes[usual]}="{uri}"'
        for usual, uri in namespaces.items()
    )
    return re.sub(r"(<(?![?!])[^\s/>]+)", rf"\1 {declared}", xml, count=1)


@pytest.mark.parametrize("suffix", NAMESPACES)
@pytest.mark.parametrize("is_strict", [False, True])
@pytest.mark.parametrize("prefix", ["x", "ns0", "é.-"])
def test_texts_are_found_under_any_prefix(suffix: str, prefix: str, is_strict: bool) -> None:
    namespaces = NAMESPACES[suffix]
    if is_strict:
        namespaces = {
            usual: uri.replace(OFFICE, STRICT).replace("2006/", "")
            for usual, uri in namespaces.items()
        }
    name = PART[suffix]
    xml = PARTS[suffix][name]
    assert isinstance(xml, str)
    prefixes = {usual: prefix + usual for usual in namespaces}
    usual, other = (
        sample_archive(suffix, **{name: with_prefixes(xml, namespaces, chosen)})
        for chosen in ({one: one for one in namespaces}, prefixes)
    )
    opened = FORMATS[suffix].open(other)
    assert opened.texts == FORMATS[suffix].open(usual).texts
    assert len(opened.texts) > 1
    assert unchanged(opened) == other
    written = with_prefixes(
        part(uppercased(FORMATS[suffix].open(usual)), name), namespaces, prefixes
    )
    assert part(uppercased(opened), name) == written


def test_of_two_prefixes_of_a_namespace_the_usual_one_is_read() -> None:
    xml = part(word_file(run("The cat")))
    declared = f' xmlns:x="{NAMESPACES[".docx"]["w"]}" '
    at = xml.index("<w:document") + len("<w:document")
    end = xml.index(">", at)
    for changed in (xml[:at] + declared + xml[at:], xml[:end] + declared + xml[end:]):
        opened = FORMATS[".docx"].open(sample_archive(".docx", text=changed))
        assert opened.texts == ["The cat"]
