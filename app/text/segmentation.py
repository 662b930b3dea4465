"""Splits a text into segments to translate, leaving everything between them unchanged.

A segment is a span of the text, and translations replace the spans, so paragraphs, bullets,
indentation and spaces are preserved. Sentence boundaries are found by `sentencex`, which knows the
abbreviations and full stops of some 300 languages. It holds the GIL, and takes quadratic time for a
line with unclosed quotations, so long lines are processed in windows.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import merge
from itertools import chain
from typing import Literal

import sentencex

from app.concurrency.threads import check_abandoned
from app.text.abbreviations import ends_within, is_abbreviation
from app.text.spans import Span, Spans, clipped, replace, within
from model.text.language_codes import canonical_code, primary_language

Split = Literal["sentences", "nonewlines", "off"]
"""Where segments end.

sentences   at the end of a sentence and of a line
nonewlines  at the end of a sentence and at a blank line: for text wrapped at some column
off         nowhere
"""

_LINE_BREAK = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+")
_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r)[^\S\n\r]*(?:\r\n|\n|\r)\s*|[\f\u2029]\s*")
LABEL = re.compile(
    r"(?:(?:[-*+•‣◦▪▫·–—>#]+|\(?(?:\d{1,3}|[a-z])\)|\d{1,3}\.|\[[ xX]\])[^\S\n\r]+)++"
)
"""Prefixes of a line: bullets, numbers, quotation marks, headings."""

_EMOJI_MODIFIERS = "\ufe0e\ufe0f\u20e3🏻🏼🏽🏾🏿"

_CLAUSE_ENDS = (
    re.compile(r"[.!?;:…](?=\s)|[。！？；：｡]"),
    re.compile(r"[,،)\]»”](?=\s)|\s(?=[–—(\[«“])|[，、）」]"),
    re.compile(r"\s(?=\S)"),
)
"""Where a sentence that is too long may be split (after the match), the best first."""

_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f](?=\s*[^\w\s])")
"""A space of several bytes in UTF-8 before punctuation."""

WINDOW = 2000
"""Code points of a line per call of sentencex: at most 1.5 ms. A sentence or quotation of up to
half a window ends where it would in the whole line."""

MAX_CHARACTERS = 8000
"""Maximum code points of a segment: more than any model reads at once."""

_UNSPACED = {"hans", "hant", "hani", "jpan", "hira", "kana", "hrkt"}
"""Scripts in which no space separates sentences. (In Thai and Lao, a space is what does.)"""


@lru_cache
def has_spaces(language: str) -> bool:
    """Whether a space separates the sentences of a language, as in Korean but not in Japanese."""
    return _UNSPACED.isdisjoint(canonical_code(language).split("-")[1:2])


def joint(between: str, source: str, target: str) -> str:
    """Return what stands between two translated sentences instead of the source's `between`.

    A sole space is removed, and a missing one inserted, where source and target language differ in
    it; everything else stays.
    """
    if between in ("", " ") and has_spaces(source) == (between == " ") != has_spaces(target):
        return "" if between else " "
    return between


def each_segment(
    text: str,
    language: str,
    split: Split = "sentences",
    protected: Sequence[Span] = (),
    unbroken: Sequence[Span] = (),
    *,
    sentences: Iterable[Span] | None = None,
) -> Iterator[Span]:
    """Yield the spans to translate, in order; spans without letters are omitted.

    `protected` spans are not translated, and no segment ends within them or within `unbroken`
    spans. Both are ordered and disjoint. `sentences` are used instead of those found, if given.
    """
    whole: Sequence[Span] = ()
    masked = silenced = text
    if protected or unbroken:
        whole = Spans(merge(protected, unbroken))
        masked = _mask(text, whole)
        silenced = replace(text, protected, ("0" * (end - start) for start, end in protected))
    for sentence in _split(masked, language, split) if sentences is None else sentences:
        for piece in _bounded(masked, sentence, whole):
            span = _trim(masked, piece)
            if any(map(str.isalpha, span.of(silenced))):
                yield span


def _bounded(masked: str, sentence: Span, whole: Sequence[Span]) -> Iterator[Span]:
    """Yield the pieces of a sentence, of at most `MAX_CHARACTERS` but for a longer `whole` span."""
    start = sentence.start
    while sentence.end - start > MAX_CHARACTERS:
        window = Span(start, start + MAX_CHARACTERS)
        kept = clipped(whole, window)
        cut = _best_cut(window.of(masked), [one.shifted(-start) for one in kept])
        if cut is None:  # after the last span that starts in the window
            last = bisect_left(whole, window.end, key=lambda span: span.start) - 1
            end = max(window.end, whole[last].end if last >= 0 else 0)
        else:
            end = start + cut
        yield Span(start, min(end, sentence.end))
        start = end
    if start < sentence.end:
        yield Span(start, sentence.end)


def split_to_fit(
    text: str,
    span: Span,
    n_tokens: Callable[[Span], int],
    limit: int,
    protected: Sequence[Span] = (),
) -> list[Span]:
    """Split a span by repeated halving into pieces of at most `limit` tokens.

    A piece is split at the end of a clause in its middle half, else at a space, else anywhere, but
    not within a protected span. The pieces cover everything except the whitespace between them.
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
    """Replace each protected span by a pseudo-word of the same length."""
    return replace(text, protected, ("X" + "x" * (end - start - 1) for start, end in protected))


def _split(text: str, language: str, split: Split) -> Iterator[Span]:
    for block in _blocks(text, split):
        if split == "off":
            yield block
        else:
            yield from _sentences(text, block, language)


def _blocks(text: str, split: Split) -> Iterator[Span]:
    """Yield the parts between line breaks or blank lines."""
    start = 0
    if split != "off":
        for match in (_LINE_BREAK if split == "sentences" else _BLANK_LINE).finditer(text):
            yield Span(start, match.start())
            start = match.end()
    yield Span(start, len(text))


def _sentences(text: str, block: Span, language: str) -> Iterator[Span]:
    """Yield the sentences of a block, with trailing whitespace."""
    start = at = block.start
    for end in chain(_ends(text, block, language), [block.end]):
        for inner in ends_within(text, Span(at, end)):
            yield Span(start, inner)
            start = inner
        at = end
        if start < end and (
            end == block.end or not is_abbreviation(text, Span(start, end), language)
        ):
            yield Span(start, end)
            start = end


def _ends(text: str, block: Span, language: str) -> Iterator[int]:
    """Yield the ends of sentences in a block, except the last, by sentencex.

    Ends in the first half of a window are certain; the next window starts at the last of them. If
    sentencex finds none, it starts at the last end that `ends_within` finds there, else at the
    first end in the window.
    """
    at = block.start
    while at < block.end:
        check_abandoned()
        window = Span(at, min(at + WINDOW, block.end))
        is_last = window.end == block.end
        certain = window.end - 1 if is_last else at + WINDOW // 2
        end = at
        for length in _lengths(window.of(text), language):
            end += length
            if end > certain:
                break
            yield end
            at = end
        if is_last:
            return
        if at == window.start:
            if inner := list(ends_within(text, Span(at, certain))):
                at = inner[-1]
            elif end < window.end:
                yield end
                at = end
            else:
                blank = text.rfind(" ", at + 1, certain)
                at = certain if blank < 0 else blank


def _lengths(window: str, language: str) -> list[int]:
    """Return the lengths of the sentences that sentencex finds in a window.

    sentencex assumes one-byte spaces in "plan B .", and panics at a no-break space there. If it
    panics elsewhere, the window is one sentence. A panic is not an `Exception`.
    """
    try:
        rules = primary_language(language)  # it has none for `pt-BR`
        sentences = sentencex.segment(rules, _WIDE_SPACE.sub(" ", window))
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return [len(window)]
    return [len(sentence) for sentence in sentences]


def _trim(text: str, span: Span) -> Span:
    """Strip a line's prefix, and whitespace, emoji and invisible characters at both ends."""
    start, end = span
    start = _skip_trimmed(text, start, end)
    if _starts_line(text, start) and (label := LABEL.match(text, start, end)):
        start = _skip_trimmed(text, label.end(), end)
    while start < end and _is_trimmed(text[end - 1]):
        end -= 1
    return Span(start, end)


def _starts_line(text: str, at: int) -> bool:
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or _LINE_BREAK.match(text[at - 1]) is not None


def _skip_trimmed(text: str, start: int, end: int) -> int:
    while start < end and _is_trimmed(text[start]):
        start += 1
    return start


def _is_trimmed(character: str) -> bool:
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
    """Return where to halve: the best kind of cut, and of that kind the nearest to the middle.

    The ordered, disjoint spans `kept` are not cut.
    """
    middle, quarter = len(masked) // 2, len(masked) // 4
    for kind in _CLAUSE_ENDS:
        matches = kind.finditer(masked, middle - quarter, middle + quarter)
        if cuts := [match.end() for match in matches if 0 < match.end() < len(masked)]:
            return min(cuts, key=lambda cut: abs(cut - middle))
    for distance in range(len(masked) - middle):
        for cut in (middle - distance, middle + distance):
            if 0 < cut < len(masked) and not unicodedata.combining(masked[cut]):
                before = bisect_left(kept, cut, key=lambda span: span.start) - 1
                if before < 0 or kept[before].end <= cut:
                    return cut
    return None
