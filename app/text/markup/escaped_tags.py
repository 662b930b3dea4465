"""Escaped tags in markup: `&lt;b&gt;bold&lt;/b&gt;`, as in feeds and doubly escaped text.

The words between two such tags belong to the sentence. The tags are lifted out as elements, so that
they move with these words and the model reads the words without them.
"""

import html
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from app.text.markup.tagged_text import Piece
from app.text.markup.tokens import VOID, unmatched

_TAG = re.compile(r"&lt;(/?)([A-Za-z][\w:.-]*)((?:\s(?:[^<>&]++|&(?!lt;|gt;))*+)?)(?:&gt;|>)")
_ZEROS = re.compile("&#0{9,}")
_TOO_LARGE = re.compile("&#[0-9]{9,}")


def unescaped(raw: str) -> str:
    """As `html.unescape`, which fails for references with thousands of digits."""
    return html.unescape(_TOO_LARGE.sub("&#1114112", _ZEROS.sub("&#0", raw)))


@dataclass(frozen=True, slots=True)
class _Tag:
    kind: Literal["open", "close"]
    name: str
    start: int
    end: int


def escaped_elements(raw: str, blocks: Container[str]) -> Iterator[Piece]:
    """Split the raw text between two tags into texts and paired escaped tags.

    A pair has letters between its tags; other tags, and those named in `blocks`, are text.
    """
    inline: list[_Tag] = []
    for match in _TAG.finditer(raw):
        name, is_open = match[2].lower(), not match[1]
        is_void = is_open and (match[3].endswith("/") or name in VOID)
        if not is_void and name not in blocks:
            inline.append(_Tag("open" if is_open else "close", name, *match.span()))
    alone = unmatched(inline)
    at = 0
    for tag in _around_letters(raw, [tag for n, tag in enumerate(inline) if n not in alone]):
        yield Piece("text", raw[at : tag.start])
        yield Piece(tag.kind, raw[tag.start : tag.end])
        at = tag.end
    yield Piece("text", raw[at:])


_INLINE = re.compile(
    r"<(b|i|u|s|a|em|strong|small|mark|span|font|sub|sup|q|code|kbd)(?:\s[^<>]*)?>([^<>]*\w[^<>]*)</\1>",
    re.IGNORECASE,
)
MAX_DEPTH = 4
"""Levels of inline tags in plain text."""


def has_inline_tags(text: str) -> bool:
    """Whether a plain text has inline tags around words, and nothing else that is markup."""
    if "</" not in text:
        return False
    for _ in range(MAX_DEPTH):
        text = _INLINE.sub(r"\2", text)
    return not {*"<>&"} & {*text}


def _around_letters(raw: str, tags: Sequence[_Tag]) -> list[_Tag]:
    """Return the tags of pairs with letters between them; all given tags are paired."""
    found: list[_Tag] = []
    opened: list[_Tag] = []
    for tag in tags:
        if tag.kind == "open":
            opened.append(tag)
            continue
        opening = opened.pop()
        between = unescaped(_TAG.sub(" ", raw[opening.end : tag.start]))
        if any(map(str.isalpha, between)):
            found += [opening, tag]
    return sorted(found, key=attrgetter("start"))
