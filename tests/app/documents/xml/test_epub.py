import pytest

from app.documents.files import FORMATS
from app.errors import UnreadableFileError
from tests.app.documents.answering import uppercased
from tests.app.documents.archives import CONTAINER, NCX, PAGE, sample_archive
from tests.app.documents.word_xml import part


def test_pages_and_contents_are_translated() -> None:
    opened = FORMATS[".epub"].open(sample_archive(".epub"))
    assert opened.texts == ["The old cat", "café noir", "First chapter"]
    data = uppercased(opened)
    page = PAGE.replace("<title/>", "<title></title>").replace('"a.js"/>', '"a.js"></script>')
    page = page.replace('"p1"/>', '"p1"></a>').replace("The <b>old</b> cat", "THE <b>OLD</b> CAT")
    assert part(data, "OPS/the page.xhtml") == page.replace("caf&eacute; noir", "CAFÉ NOIR")
    assert part(data, "OPS/toc.ncx") == NCX.replace("First chapter", "FIRST CHAPTER")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("META-INF/container.xml", "<container/>", "it has no pages"),
        ("META-INF/container.xml", CONTAINER.replace("a.opf", "b.opf"), "OPS/b.opf is missing"),
        ("OPS/a.opf", "<package/>", "it has no pages"),
        ("OPS/a.opf", "<!DOCTYPE a [<!ENTITY b 'c'>]><package/>", "OPS/a.opf: definitions of"),
    ],
)
def test_books_without_pages(name: str, content: str, reason: str) -> None:
    with pytest.raises(UnreadableFileError, match=reason):
        FORMATS[".epub"].open(sample_archive(".epub", **{name: content}))
