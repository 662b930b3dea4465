"""What each parser makes of hostile inputs: how its time grows with their size, and memory.

    python -m benchmarks.hostile [--forms text html …] [--own] [--size 10000] [--limit 20]

Every case is read in a process of its own, once at a size and once at four times that size, the
way a request is: opened, cut into sentences, cut to what a model reads, and put together again
with other words.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import NamedTuple

from rich.console import Console

from app.documents.files import FileDocument, file_format
from app.errors import UnreadableFileError
from app.text.document import Answer, Document, PlainText
from app.text.markup import MarkupDocument
from app.text.markup_tokens import MarkupError
from app.text.placeholders import find_placeholders
from app.text.segmentation import each_segment, split_to_fit
from benchmarks.hostile_inputs import FORMS, Case, cases

GROWTH = 4
MAX_TOKENS = 256


class Cost(NamedTuple):
    """Processor seconds, and bytes more than before at the peak."""

    seconds: float
    memory: int
    outcome: str


def read(form: str, data: str | bytes) -> str:
    """All that is done to a text or file but the model's part. What becomes of it, in a word."""
    try:
        document = _open(form, data)
    except (UnreadableFileError, MarkupError):
        return "refused"
    for text in document.texts:
        protected = find_placeholders(text)
        for span in each_segment(
            text, "en", "nonewlines" if form[0] == "." else "sentences", protected
        ):
            split_to_fit(text, span, lambda piece: piece.end - piece.start, MAX_TOKENS, protected)
    document.with_translations([Answer(text.upper() + "x") for text in document.texts])
    return "read"


def _open(form: str, data: str | bytes) -> Document | FileDocument:
    if isinstance(data, bytes):
        return file_format("a" + form).open(data)
    if form == "text":
        return PlainText(data)
    return MarkupDocument(data, "html" if form == "html" else "xml")


def measured(case: Case, size: int, limit: int) -> Cost:
    """In a process of its own; infinite where it takes longer than `limit` processor seconds."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_measure, args=(case, size, limit, theirs)
    )
    process.start()
    theirs.close()
    try:
        return Cost(*ours.recv())
    except EOFError:
        return Cost(float("inf"), 0, "too slow")
    finally:
        process.kill()
        process.join()
        ours.close()


def _measure(case: Case, size: int, limit: int, answer: Connection) -> None:
    data = case.make(size)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        outcome = read(case.form, data)
    except Exception as error:
        outcome = f"{type(error).__name__}: {str(error)[:60]}"
    seconds = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.send((seconds, 1024 * (after - before), outcome))


class Row(NamedTuple):
    """What became of all cases of a parser; `growing` cost more than twice what their size did."""

    form: str
    n_cases: int
    growing: int
    failed: int
    worst: Cost
    slowest: str
    memory: int

    def written(self) -> str:
        """As a row of a table in Markdown."""
        return (
            f"| {self.form} | {self.n_cases} | {self.growing} | {self.failed} "
            f"| {self.worst.seconds:.2f} | {self.slowest} | {self.memory / 1e6:.0f} |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every case that is slow, grows, or fails, and a row for each parser."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS)
    parser.add_argument("--size", type=int, default=10_000, help="characters of the smaller input")
    parser.add_argument("--own", action="store_true", help="only the format's own delimiters")
    parser.add_argument("--limit", type=int, default=20, help="processor seconds for a case")
    given = parser.parse_args(arguments)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    rows = [
        _row(form, list(cases(form, is_own=given.own)), given.size, given.limit, console)
        for form in given.forms
    ]
    console.print("| Parser | Cases | Growing | Failed | Slowest, s | Case | Memory, MB |")
    console.print("| --- | ---: | ---: | ---: | ---: | --- | ---: |")
    for row in rows:
        console.print(row.written())


def _row(form: str, tried: Sequence[Case], size: int, limit: int, console: Console) -> Row:
    growing = failed = memory = 0
    worst, slowest = Cost(0, 0, ""), ""
    for case in tried:
        small, large = (measured(case, n, limit) for n in (size, GROWTH * size))
        grows = large.seconds > 0.05 and large.seconds > 2 * GROWTH * small.seconds
        fails = large.outcome not in ("read", "refused", "too slow")
        growing, failed = growing + grows, failed + fails
        memory = max(memory, large.memory)
        if large.seconds > worst.seconds:
            worst, slowest = large, case.name
        if grows or fails or large.seconds == float("inf"):
            console.print(f"{form} {small} {large} {case.name}")
    return Row(form, len(tried), growing, failed, worst, slowest, memory)


if __name__ == "__main__":
    main()
