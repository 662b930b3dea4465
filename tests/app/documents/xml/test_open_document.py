import re

import pytest

from app.documents.files import FORMATS
from app.errors import UnreadableFileError
from tests.app.documents.answering import uppercased
from tests.app.documents.archives import OPEN_DOCUMENT, sample_archive
from tests.app.documents.word_xml import part


@pytest.mark.parametrize("suffix", [".odt", ".odp", ".ods"])
def test_paragraphs_notes_and_boxes_are_translated_and_all_else_stays(suffix: str) -> None:
    opened = FORMATS[suffix].open(sample_archive(suffix))
    assert opened.texts == [
        "A title", "The old cat", "a note", "on page \ue0000\ue001", "here", "in a box",
    ]  # fmt: skip
    written = part(uppercased(opened), "content.xml")
    kept = r"(<[^>]*>|not this|deleted|(?<=citation>)1|(?<=number>)3)"
    expected = [
        piece if number % 2 else piece.upper()
        for number, piece in enumerate(re.split(kept, OPEN_DOCUMENT))
    ]
    assert written == "".join(expected)


def test_an_element_for_a_space_separates_words() -> None:
    """Word ends spans with it; LibreOffice writes it behind a space."""
    xml = (
        "<a><text:p><text:s/>See <text:span>figure 5.<text:s/></text:span>"
        "<text:span>The</text:span><text:s/>old <text:s/>cat</text:p></a>"
    )
    opened = FORMATS[".odt"].open(sample_archive(".odt", text=xml))
    assert opened.texts == ["See figure 5. The old cat"]
    written = part(uppercased(opened), "content.xml")
    spaced = re.sub("<[^>]*>", "", written.replace("<text:s/>", " "))
    assert " ".join(spaced.split()) == "SEE FIGURE 5. THE OLD CAT"


def test_headers_and_footers_are_translated() -> None:
    styles = "<s><style:header><text:p>a header</text:p></style:header></s>"
    data = sample_archive(".odt", **{"styles.xml": styles})
    assert "A HEADER" in part(uppercased(FORMATS[".odt"].open(data)), "styles.xml")


def test_an_encrypted_document_is_refused() -> None:
    manifest = "<m><manifest:encryption-data/></m>"
    data = sample_archive(".odt", text=b"\xff", **{"META-INF/manifest.xml": manifest})
    with pytest.raises(UnreadableFileError, match="the document is encrypted"):
        FORMATS[".odt"].open(data)
