"""PDF: the text, as paragraphs of a text file. The layout, images and links are lost."""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import structlog

from app.documents.prose import Line
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, Parts
from app.text.segmentation import LABEL

MAX_SECONDS = 120
"""Time to extract the text; a page takes some hundredths of a second."""

_READER = Path(__file__).with_name("pdf_reader.py")
_UNEXPECTED = 3
"""`UNEXPECTED` of the reader, which needs a module of Unix alone."""

_FULL, _FULL_SENTENCE = 0.75, 0.95
"""A paragraph continues after a line at least this long, as a fraction of the longest lines; the
second is for a line that ends a sentence."""

_SENTENCE_END = re.compile(r"[.!?:]$")
_DIVIDED = re.compile(r"(?<=[^\W\d_])-\n([^\W\d_])")

_log = structlog.get_logger()


class PdfFile:
    """The text of a PDF file, by pypdf. Raises `UnreadableFileError`."""

    def __init__(self, data: bytes) -> None:
        pages = _extracted(data).split("\f")
        self._document = Parts(part for page in pages for part in _parts(page))
        self.texts = self._document.texts
        self.tagged = self._document.tagged
        if not self.texts:
            raise UnreadableFileError("the PDF has no text; a scan needs text recognition first")

    def with_translations(self, answers: Sequence[Answer]) -> bytes:
        return self._document.with_translations(answers).encode("utf-8", "replace")


def _extracted(data: bytes) -> str:
    """Return the text, with form feeds between pages.

    A process of its own reads the file, because a damaged one may take any time and memory.
    """
    try:
        done = subprocess.run(  # noqa: S603  (a program of this package)
            [sys.executable, "-P", str(_READER)],
            input=data, capture_output=True, timeout=MAX_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UnreadableFileError(f"the PDF took more than {MAX_SECONDS} s to read") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        if done.returncode == _UNEXPECTED:
            _log.warning("PDF not read", error=reason)
            raise UnreadableFileError("not a PDF that can be read")
        raise UnreadableFileError(reason if done.returncode == 1 else "the PDF is damaged")
    return done.stdout.decode("utf-8", "replace")


def _parts(page: str) -> Iterator[str | Document]:
    """Yield the paragraphs of a page, with an empty line behind each."""
    lines = [line.strip() for line in page.split("\n")]
    width = sorted(map(len, lines))[len(lines) * 9 // 10]
    paragraph: list[str] = []
    for line, following in pairwise([*lines, ""]):
        paragraph.append(line)
        is_full = len(line) > width * (_FULL_SENTENCE if _SENTENCE_END.search(line) else _FULL)
        if is_full and following and not LABEL.match(following):
            continue
        if text := _DIVIDED.sub(_joined, "\n".join(paragraph)).replace("\n", " "):
            yield Line(text) if any(map(str.isalpha, text)) else text
            yield "\n\n"
        paragraph = []


def _joined(hyphen: re.Match[str]) -> str:
    """Join a divided word."""
    return hyphen[1] if hyphen[1].islower() else hyphen[0]
