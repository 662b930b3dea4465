"""What a text holds that is no language: variables, tags, web and e-mail addresses.

Found by the syntax of the usual template languages, not by asking the model: `{name}`, `{0:.2f}`,
`{{ count }}`, `${x}`, `%{x}`, `#{x}`, `{% if x %}`, `%s`, `%1$s`, `%.2f`, `%(name)s`, `%@`, `%%`,
`<x1/>`, `</b>`, ICU messages (`{n, plural, one {# file} other {# files}}`), URLs and addresses.
"""

from __future__ import annotations

import re

from app.concurrency.abandonment import check_wanted
from app.text.spans import Span

ATOM = re.compile("\ue000\\d+\ue001")
"""The stand-in for a piece of markup that must not be translated; see `markup`."""

_START = re.compile(
    r"""
      \ue000\d+\ue001 |
      (?P<doubled> \{{2,3}[^{}\n]*\}{2,3} | \{%[^\n]{0,300}?%\} | \{\#[^\n]{0,300}?\#\} )
    | (?P<icu> \{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*, )
    | (?P<braced> [$%#]?\{\s*(?:[\w.$-]+ (?:\[[^\[\]{}\s]*\])* )?\s*
                  (?: [!:][^{}\s]* | ,\s*(?:number|date|time|spellout|ordinal|duration)\b[^{}\n]* )?\} )
    | (?P<printf> %%(?!\w) | (?<!\d)%(?:\d+\$|\(\w+\))?[-+0\#]*(?:[1-9]\d*|\*)?(?:\.(?:\d+|\*))?
                  (?:hh?|ll?|[Lzjt])?[sdifuxXeEgGcpo@](?!\w) )
    | (?P<tag> </?[A-Za-z][\w:.-]*(?:\s+[\w:.-]+(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+))?)*\s*/?> )
    | (?P<url> (?:\b(?:https?|ftp|file|wss?)://|\bwww\.(?=\w))(?:[^\s<>"'«»“”{}|\\^`]|\{[^{}\s]*\})+ )
    | (?P<email> (?<![\w.+-])(?:mailto:)?[\w.+-]+@(?:[\w-]+\.)+[A-Za-z]{2,}\b )
    """,  # noqa: E501
    re.VERBOSE,
)
_URL_TAIL = ".,;:!?…*_)]’"
_JOINT = re.compile(r"[ \t]?|[:/@=+_.-]")


WINDOW = 32_000
"""Characters searched in one call, which keeps the interpreter's lock: 5 to 20 milliseconds."""

LONGEST = 10_000
"""A longer placeholder may not be recognised as one."""


def find_placeholders(text: str) -> list[Span]:
    """Their spans, in order; those that touch, or have but a blank or a joint between them, as one.

    A full stop or bracket that closes the sentence around an address is not part of it.
    """
    found: list[Span] = []
    braces: dict[int, int] | None = None
    at = 0
    while match := _next(text, at):
        span = Span(match.start(), match.end())
        if match.lastgroup == "url":
            span = Span(span.start, span.start + len(_without_tail(match[0])))
        elif match.lastgroup == "icu":
            if braces is None:
                braces = _closing_braces(text)
            if span.start not in braces:
                at = span.end
                continue
            span = Span(span.start, braces[span.start])
        at = span.end
        if found and _JOINT.fullmatch(text, found[-1].end, span.start):
            span = Span(found.pop().start, span.end)
        found.append(span)
    return found


def _next(text: str, at: int) -> re.Match[str] | None:
    """Return the first match from `at` on, searching a window after the other."""
    while at < len(text):
        check_wanted()
        end = min(at + WINDOW, len(text))
        match = _START.search(text, at, end)
        if end == len(text):
            return match
        if match is None or match.start() > end - LONGEST:
            at = end - LONGEST  # what begins behind it may be cut off
        elif match.end() < end:
            return match
        elif found := _START.match(text, match.start()):
            return found
        else:
            at = match.start() + 1
    return None


def _without_tail(url: str) -> str:
    """Less the punctuation behind; a bracket that the address itself opened is part of it."""
    head = url.rstrip(_URL_TAIL)
    if url.startswith(")", len(head)) and head.count("(") > head.count(")"):
        return head + ")"
    return head


def _closing_braces(text: str) -> dict[int, int]:
    """Where each brace that is closed opens → behind where it closes."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for match in re.finditer("[{}]", text):
        if match[0] == "{":
            opened.append(match.start())
        elif opened:
            ends[opened.pop()] = match.end()
    return ends
