"""Writes the text of a PDF file to standard output: a program that `app.documents.pdf` runs."""

import io
import resource
import sys
from contextlib import suppress

MAX_PAGES = 2000
MAX_CHARACTERS = 20_000_000
MAX_MEMORY = 1_000_000_000
MAX_CPU_SECONDS = 100
UNEXPECTED = 3
"""Exit status after any other exception, whose type is the last line of standard error."""


def main() -> None:
    """Read standard input. Exits with 1 and a message if it has no text that can be read."""
    for limit, maximum in (
        (resource.RLIMIT_AS, MAX_MEMORY),
        (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
    ):
        with suppress(OSError, ValueError):  # a lower limit is set already; macOS has no RLIMIT_AS
            resource.setrlimit(limit, (maximum, maximum))
    try:
        from pypdf import PdfReader
        from pypdf.errors import FileNotDecryptedError, PyPdfError
    except ImportError:
        sys.exit("PDF files need the extra pdf: pip install '.[pdf]'")
    try:
        reader = PdfReader(io.BytesIO(sys.stdin.buffer.read()))
        if reader.get_num_pages() > MAX_PAGES:
            sys.exit(f"a PDF may have {MAX_PAGES:,} pages")
        n_characters = 0
        for number, page in enumerate(reader.pages):
            text = page.extract_text().replace("\f", "\n")
            n_characters += len(text)
            if n_characters > MAX_CHARACTERS:
                sys.exit(f"a PDF may have {MAX_CHARACTERS:,} characters")
            sys.stdout.buffer.write(("\f" * (number > 0) + text).encode("utf-8", "replace"))
    except FileNotDecryptedError:
        sys.exit("the PDF is encrypted")
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sys.exit("not a PDF that can be read")


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # its message might quote the file
        sys.stderr.write(f"\n{type(error).__name__}")
        sys.exit(UNEXPECTED)
