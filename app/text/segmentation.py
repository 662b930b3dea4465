"""Where a text has something to translate: its sentences, and everything between them left alone.

Nothing is rebuilt: a segment is a span of the text, and a translation replaces the spans, so that
paragraphs, bullets, indentation and blanks come back as they were.

Sentences end where `sentencex` (Wikimedia, MIT) says so, which knows the abbreviations and full
stops of some 300 languages. Its time grows with the square of a line that opens quotations and does
not close them, and it holds the interpreter's lock, so it reads a long line in windows.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import sentencex

from app.text.spans import Span, replace, within

Split = Literal["sentences", "nonewlines", "off"]
"""Where segments end.

sentences   at the end of a sentence and of a line
nonewlines  at the end of a sentence and at a blank line: for text wrapped at some column
off         nowhere
"""


_LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[^\S\n\r]*(?:\r\n|\n|\r)\s*|[\f\u2029]\s*")
LABEL = re.compile(
    r"(?:(?:[-*+•‣◦▪▫·–—>#]+|\(?(?:\d{1,3}|[a-z])\)|\d{1,3}\.|\[[ xX]\])[^\S\n\r]+)+"
)
"""What stands before the first word of a line: bullets, numbers, marks of quotations, headings."""

_EMOJI_MODIFIERS = "\ufe0e\ufe0f\u20e3🏻🏼🏽🏾🏿"

_CLAUSE_ENDS = (
    re.compile(r"[.!?;:…](?=\s)|[。！？；：｡]"),
    re.compile(r"[,،)\]»”](?=\s)|\s(?=[–—(\[«“])|[，、）」]"),
    re.compile(r"\s(?=\S)"),
)
"""Where an over-long sentence may be cut (behind the match), the best first."""

WINDOW = 2000
"""Code points of a line that sentencex reads at once: 1.5 ms at worst.

A sentence or quotation of up to half a window ends where it would in the whole line.
"""

_LONGEST_ABBREVIATION = 40
"""Code points before the end of a sentence in which an abbreviation is looked for."""


def segments(
    text: str,
    language: str,
    split: Split = "sentences",
    protected: Sequence[Span] = (),
    unbroken: Sequence[Span] = (),
) -> list[Span]:
    """The spans with something to translate, in order; what has no letter is not among them.

    `protected` spans hold nothing to translate, and no segment ends within one or within one of
    the `unbroken`. Both are in order, and apart.
    """
    masked = _mask(text, sorted([*protected, *unbroken]))
    silenced = replace(text, protected, ["0" * (end - start) for start, end in protected])
    found = []
    for block in _blocks(masked, split):
        sentences = [block] if split == "off" else _sentences(masked, block, language)
        found += [_trim(masked, sentence) for sentence in sentences]
    return [span for span in found if any(map(str.isalpha, span.of(silenced)))]


def split_to_fit(
    text: str,
    span: Span,
    n_tokens: Callable[[Span], int],
    limit: int,
    protected: Sequence[Span] = (),
) -> list[Span]:
    """The span in pieces of `limit` tokens at most, each as long as halving makes them.

    A piece is halved at the end of a clause if there is one in the middle half of it, else at a
    space, else anywhere. One that cannot be halved, a single character or a protected span, stays
    as it is. The pieces cover every character but the white space between them.
    """
    if n_tokens(span) <= limit:
        return [span]
    kept = [one.shifted(-span.start) for one in within(protected, span)]
    offset = _best_cut(_mask(span.of(text), kept), kept)
    if offset is None:
        return [span]
    cut = span.start + offset
    return [
        piece
        for half in (Span(span.start, cut), Span(cut, span.end))
        if (trimmed := _strip(text, half)).start < trimmed.end
        for piece in split_to_fit(text, trimmed, n_tokens, limit, protected)
    ]


def _mask(text: str, protected: Sequence[Span]) -> str:
    """The text with a made-up word of the same length for each protected span."""
    return replace(text, protected, ["X" + "x" * (end - start - 1) for start, end in protected])


def _blocks(text: str, split: Split) -> Iterator[Span]:
    """What line breaks, or blank lines, separate."""
    if split == "off":
        yield Span(0, len(text))
        return
    separator = _LINE_BREAK if split == "sentences" else _BLANK_LINE
    start = 0
    for match in separator.finditer(text):
        yield Span(start, match.start())
        start = match.end()
    yield Span(start, len(text))


def _sentences(text: str, block: Span, language: str) -> Iterator[Span]:
    """Those of a block, with the white space behind each."""
    start = block.start
    for end in _ends(text, block, language):
        if not _goes_on(text[max(start, end - _LONGEST_ABBREVIATION) : end], text[end]):
            yield Span(start, end)
            start = end
    yield Span(start, block.end)


def _ends(text: str, block: Span, language: str) -> Iterator[int]:
    """Where sentencex sees sentences of a block end, the last one's end left out.

    What ends in the first half of a window is certain, and the next one begins there.
    """
    at = block.start
    while at < block.end:
        window = Span(at, min(at + WINDOW, block.end))
        is_last = window.end == block.end
        certain = window.end if is_last else at + WINDOW // 2
        for sentence in sentencex.segment(language, window.of(text)):
            end = at + len(sentence)
            if end >= window.end or (end > certain and at > window.start):
                break
            yield end
            at = end
        if is_last:
            return
        if at == window.start:  # nothing ended here
            blank = text.rfind(" ", at + 1, certain)
            at = certain if blank < 0 else blank


def _goes_on(sentence: str, following: str) -> bool:
    """Whether a full stop that was taken for an end is one of an abbreviation.

    Two sentences taken for one do less harm than one cut in two.
    """
    sentence = sentence.rstrip()
    if not sentence.endswith("."):
        return False
    last_word = re.split(r"[\s.'’(]", sentence[:-1])[-1]
    if not last_word.isalpha():
        return False
    return len(last_word) == 1 or (
        len(last_word) <= 4 and (following.islower() or following.isdigit())
    )


def _trim(text: str, span: Span) -> Span:
    """Less the label of a line in front, and white space, emoji and invisibles at both ends."""
    start, end = span
    start = _skip_trimmings(text, start, end)
    if _begins_line(text, start) and (label := LABEL.match(text, start, end)):
        start = _skip_trimmings(text, label.end(), end)
    while start < end and _is_trimmings(text[end - 1]):
        end -= 1
    return Span(start, end)


def _begins_line(text: str, at: int) -> bool:
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or _LINE_BREAK.match(text[at - 1]) is not None


def _skip_trimmings(text: str, start: int, end: int) -> int:
    while start < end and _is_trimmings(text[start]):
        start += 1
    return start


def _is_trimmings(character: str) -> bool:
    if character < "\x7f":
        return character <= " "
    # So symbols and emoji, Cf their joiners and other invisible characters, Cc controls.
    return (
        character.isspace()
        or unicodedata.category(character) in ("So", "Cf", "Cc")
        or character in _EMOJI_MODIFIERS
    )


def _strip(text: str, span: Span) -> Span:
    covered = span.of(text)
    start = span.start + len(covered) - len(covered.lstrip())
    return Span(start, max(start, span.start + len(covered.rstrip())))


def _best_cut(masked: str, kept: Sequence[Span]) -> int | None:
    """Where to halve: the best kind of place, and of that kind the nearest to the middle.

    None of `kept`, in order and apart, is cut.
    """
    middle, quarter = len(masked) // 2, len(masked) // 4
    for kind in _CLAUSE_ENDS:
        matches = kind.finditer(masked, middle - quarter, middle + quarter)
        if cuts := [match.end() for match in matches if 0 < match.end() < len(masked)]:
            return min(cuts, key=lambda cut: abs(cut - middle))
    for distance in range(len(masked) - middle):
        for cut in (middle - distance, middle + distance):
            if (
                0 < cut < len(masked)
                and not unicodedata.combining(masked[cut])
                and not _is_within(cut, kept)
            ):
                return cut
    return None


def _is_within(place: int, spans: Sequence[Span]) -> bool:
    before = bisect_left(spans, place, key=lambda span: span.start) - 1
    return before >= 0 and place < spans[before].end
