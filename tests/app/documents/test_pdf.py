"""The text of PDF files; requires the extra `pdf`."""

import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.documents import pdf
from app.documents.pdf import PdfFile
from app.errors import UnreadableFileError
from tests.app.documents.answering import uppercased

PAGES = (
    "The old cat lives in a house that\nis green, because nobody has pain-\nted it.\n\nA heading\n"
    "- an item\n12",
    "The next page.",
)


@pytest.fixture
def extracted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_extracted", lambda data: data.decode())


@pytest.mark.usefixtures("extracted")
def test_lines_are_joined_to_paragraphs() -> None:
    opened = PdfFile("\f".join(PAGES).encode())
    assert opened.texts == [
        "The old cat lives in a house that is green, because nobody has painted it.",
        "A heading", "- an item", "The next page.",
    ]  # fmt: skip
    assert uppercased(opened).decode().split("\n\n") == [
        "THE OLD CAT LIVES IN A HOUSE THAT IS GREEN, BECAUSE NOBODY HAS PAINTED IT.",
        "A HEADING", "- AN ITEM", "12", "THE NEXT PAGE.", "",
    ]  # fmt: skip


@pytest.mark.usefixtures("extracted")
@pytest.mark.parametrize("text", ["", "\f\f", "12\n\n3"])
def test_a_scan_has_no_text(text: str) -> None:
    with pytest.raises(UnreadableFileError, match="a scan needs text recognition"):
        PdfFile(text.encode())


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (1, b"a warning\nthe PDF is encrypted\n", "^the PDF is encrypted$"),
        (-9, b"", "^the PDF is damaged$"),  # by a limit of memory or time
        (2, b"Traceback\nsecret", "^the PDF is damaged$"),
        (3, b"a warning\nOverflowError", "^not a PDF that can be read$"),
    ],
)
def test_failures_of_the_reader(
    monkeypatch: pytest.MonkeyPatch, status: int, message: bytes, reason: str
) -> None:
    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], status, b"", message)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(UnreadableFileError, match=reason):
        PdfFile(b"%PDF")


def test_a_pdf_that_takes_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_SECONDS", 0.001)
    with pytest.raises(UnreadableFileError, match=r"took more than 0\.001 s"):
        PdfFile(b"%PDF")


def written(text: str, *, kids: bytes = b"3 0 R", packed: bytes = b"") -> bytes:
    """A PDF of one page; `packed` is a compressed content stream that replaces the text's."""
    lines = "".join(f"({line}) Tj T* " for line in text.split("\n"))
    stream = f"BT /F1 12 Tf 14 TL 50 700 Td {lines}ET".encode()
    stream, kind = (packed, b"/Filter/FlateDecode") if packed else (stream, b"")
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[%b]/Count 1>>" % kids,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d%b>>stream\n%b\nendstream" % (len(stream), kind, stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]  # fmt: skip
    data = b"%PDF-1.4\n"
    starts = []
    for number, content in enumerate(objects, 1):
        starts.append(len(data))
        data += b"%d 0 obj%b endobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    head = b"xref\n0 6\n0000000000 65535 f \n" + table
    end = b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % len(data)
    return data + head + end


def test_a_pdf_is_read() -> None:
    pytest.importorskip("pypdf")
    assert PdfFile(written("The old cat")).texts == ["The old cat"]
    for broken in (b"", b"no PDF", written("x")[:60]):
        with pytest.raises(UnreadableFileError, match="not a PDF that can be read"):
            PdfFile(broken)


@pytest.mark.parametrize("error", ["OverflowError", "MemoryError", "ZeroDivisionError"])
def test_an_exception_that_is_not_listed_has_a_plain_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: str
) -> None:
    (tmp_path / "pypdf").mkdir()
    (tmp_path / "pypdf" / "__init__.py").write_text(
        f"class PdfReader:\n    def __init__(self, _):\n        raise {error}('secret')\n"
    )
    (tmp_path / "pypdf" / "errors.py").write_text(
        "class PyPdfError(Exception): ...\nclass FileNotDecryptedError(PyPdfError): ...\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with capture_logs() as logs, pytest.raises(UnreadableFileError, match=r"^not a PDF that can "):
        PdfFile(b"%PDF")
    assert logs == [{"event": "PDF not read", "log_level": "warning", "error": error}]


def bomb(n_bytes: int) -> bytes:
    """Compressed zeros."""
    packer = zlib.compressobj(9)
    packed = [packer.compress(bytes(1_000_000)) for _ in range(n_bytes // 1_000_000)]
    return b"".join([*packed, packer.flush()])


HOSTILE = {
    "pages that contain themselves": {"kids": b"2 0 R 3 0 R"},
    "many pages that are one": {"kids": b"3 0 R " * 100_000},
    "a program of 500 MB": {"packed": bomb(500_000_000)},
    "deeply nested": {"packed": zlib.compress(b"[" * 100_000)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_or_have_no_text(name: str) -> None:
    pytest.importorskip("pypdf")
    with pytest.raises(UnreadableFileError, match=r"can be read|has no text|may have 2,000 pages"):
        PdfFile(written("", **HOSTILE[name]))
