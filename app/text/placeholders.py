"""Finds what is not language in a text: variables, tags, web and e-mail addresses.

They are recognised by the syntax of the usual template languages: `{name}`, `{0:.2f}`,
`{{ count }}`, `${x}`, `%{x}`, `#{x}`, `{% if x %}`, `%s`, `%1$s`, `%.2f`, `%(name)s`, `%@`, `%%`,
`<x1/>`, `</b>`, `&amp;`, ICU messages (`{n, plural, one {# file} other {# files}}`), URLs,
addresses, and `@0#`, by which Immersive Translate marks what it keeps.
"""

import re
from array import array
from bisect import bisect_left

from app.concurrency.threads import check_abandoned
from app.text.spans import Span, Spans

ATOM = re.compile("\ue000\\d+\ue001")
"""The stand-in for a piece of markup that must not be translated; see `markup`."""

# Groups repeated without limit are possessive: others take 100 bytes per repetition.
_START = re.compile(
    r"""
      \ue000\d+\ue001 |
      (?P<doubled> \{{2,3}[^{}\n]*\}{2,3} | \{%[^\n]{0,300}?%\} | \{\#[^\n]{0,300}?\#\} )
    | (?P<icu> \{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*, )
    | (?P<braced> [$%#]?\{\s*(?:[\w.$-]+ (?:\[[^\[\]{}\s]*\])*+ )?\s*
                  (?: [!:][^{}\s]* | ,\s*(?:number|date|time|spellout|ordinal|duration)\b[^{}\n]* )?\} )
    | (?P<printf> %%(?!\w) | (?<!\d)%(?:\d+\$|\(\w+\))?[-+0\#]*(?:[1-9]\d*|\*)?(?:\.(?:\d+|\*))?
                  (?:hh?|ll?|[Lzjt])?[sdifuxXeEgGcpo@](?!\w) )
    | (?P<tag> </?[A-Za-z][\w:.-]*(?:\s+[\w:.-]++(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+))?+)*+\s*/?> )
    | (?P<entity> (?:(?<!\w)\w{1,40})?&(?:\#[xX]?[0-9A-Fa-f]{1,7}|[A-Za-z][A-Za-z\d]{1,31});\w{0,40} )
    | (?P<url> (?:\b(?:https?|ftp|file|wss?)://|\bwww\.(?=\w))(?:[^\s<>"'«»“”{}|\\^`]++|\{[^{}\s]*\})++ )
    | (?P<kept> @\d+\# )
    | (?P<email> (?<![\w.+-])(?:mailto:)?[\w.+-]+@(?:[\w-]{1,63}\.){1,127}[A-Za-z]{2,}\b )
    """,  # noqa: E501
    re.VERBOSE,
)
_MARKS = ("{", "%", "&", "<", "@", "://", "www.", "\ue000")
"""Every placeholder contains one of these."""

_URL_TAIL = ".,;:!?…*_)]’"
_JOINT = re.compile(r"[ \t]?|[:/@=+_.-]")

WINDOW = 32_000
"""Characters searched in one call, which holds the GIL for 5 to 20 milliseconds."""

LONGEST = 10_000
"""Maximum characters of a placeholder; a longer one may not be found."""


def find_placeholders(text: str) -> Spans:
    """Return the placeholders in order; adjacent ones, or with a `_JOINT` between, are one span."""
    found = Spans()
    if not any(map(text.__contains__, _MARKS)):
        return found
    braces: _Braces | None = None
    at = 0
    while match := _next(text, at):
        span = Span(match.start(), match.end())
        if match.lastgroup == "url":
            span = Span(span.start, span.start + len(_without_tail(match[0])))
        elif match.lastgroup == "icu":
            braces = braces or _Braces(text)
            end = braces.end_of(span.start)
            if end is None:
                at = span.end
                continue
            span = Span(span.start, end)
        at = span.end
        if found and _JOINT.fullmatch(text, found[-1].end, span.start):
            found.extend_last(span.end)
        else:
            found.append(span)
    return found


def _next(text: str, at: int) -> re.Match[str] | None:
    """Return the first match from `at` on, searching one window at a time."""
    while at < len(text):
        check_abandoned()
        end = min(at + WINDOW, len(text))
        match = _START.search(text, at, end)
        if end == len(text):
            return match
        if match is None or match.start() > end - LONGEST:
            at = end - LONGEST  # a later start may be cut off
        elif match.end() < end:
            return match
        elif found := _START.match(text, match.start()):
            return found
        else:
            at = match.start() + 1
    return None


def _without_tail(url: str) -> str:
    """Strip the sentence's punctuation; a bracket that the address opened is part of it."""
    head = url.rstrip(_URL_TAIL)
    if url.startswith(")", len(head)) and head.count("(") > head.count(")"):
        return head + ")"
    return head


class _Braces:
    """The braces of a text, in arrays, since there may be a million."""

    def __init__(self, text: str) -> None:
        self._starts = array("I")
        self._ends = array("I")  # 0 if it is not closed
        opened = array("I")
        for match in re.finditer("[{}]", text):
            if match[0] == "{":
                opened.append(len(self._starts))
                self._starts.append(match.start())
                self._ends.append(0)
            elif opened:
                self._ends[opened.pop()] = match.end()

    def end_of(self, start: int) -> int | None:
        """Return where the braces that open at `start` end, or None if they do not."""
        return self._ends[bisect_left(self._starts, start)] or None
