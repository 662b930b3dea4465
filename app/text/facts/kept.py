"""Finds the facts that a translation copies: code, telephone numbers, identifiers, names."""

import re
from collections.abc import Iterator

from app.text.facts.code import TOOL, find_code
from app.text.facts.identifiers import find_identifiers
from app.text.facts.numbers import has_digit
from app.text.remembered import remembered
from app.text.spans import Span, Spans, united

_COMPANY = (
    r"Inc|Ltd|LLC|LLP|PLC|plc|Corp|GmbH|AG|KG|KGaA|SARL|SAS|SASU|EURL|S\.A\.R\.L|S\.A\.S|S\.A|SpA"
    r"|S\.p\.A|S\.r\.l|B\.V|N\.V|Oy|AB|A/S|ApS|Pty|Bhd|Co\.,?[ ]Ltd|Pte"
)
_CAPITAL = r"[^\W\d_a-zà-ÿ][\w&’'.-]{0,40}"
_NAMES = re.compile(
    rf"""
      (?<![\w.])(?:{_CAPITAL}[ ](?:&[ ])?){{0,3}}{_CAPITAL},?[ ](?:{_COMPANY})\b(?:\.(?=\S|[ ]\S))?
    | (?<![\w&])[^\W_][\w&’'.-]{{0,40}}[ ]?[™®℠]
    | (?<=\b[Cc]ode[ ])[A-Z][A-Z\d]{{3,}}\b | (?<=\b(?:BIC|PIN):[ ])[A-Z\d]{{4,}}\b
    | (?<=\bBIC[ ])[A-Z\d]{{8,11}}\b | (?<=\bSWIFT[ ])[A-Z\d]{{8,11}}\b
    | (?<![\w&/#])\#(?=\d{{0,30}}[^\W\d_])\w{{1,100}}
    | (?<![\w.@/+-])@(?=\d{{0,30}}[^\W\d_])\w(?:[\w.]{{0,60}}\w)?(?!@)
    """,
    re.VERBOSE,
)
_MARK = re.compile(rf"[™®℠#@]|[ ](?:{_COMPANY})\b|(?:[Cc]ode|BIC:?|PIN:|SWIFT)[ ][A-Z]")
_FUNCTION_WORDS = re.compile(r"(?:The|An?|Le|La|Les|Un|Une|In|At|On|By|For|Chez|Der|Die|Das|El)[ ]")
_SIGN = re.compile(r"[\d`\\/_$#=~^(<%:{\[@™®℠+]")
_HYPHEN = re.compile(r"(?<!\S)-")
_LATER_CAPITAL = re.compile(r"(?<=.)[A-Z]", re.DOTALL)
_COMMAND = re.compile(rf"(?<!\w){TOOL}[ ][a-z]")
_CAMEL = re.compile("[a-z][A-Z]")


@remembered
def find_kept(text: str, language: str) -> Spans:
    """Return the spans of a text that are copied, in order and disjoint; they are not changed."""
    if not _may_have_kept(text):
        return Spans()
    identifiers = find_identifiers(text, language) if has_digit(text) else ()
    return united(text, find_code(text), _find_names(text), identifiers)


def _may_have_kept(text: str) -> bool:
    """Whether a text has signs of code, identifiers or names, which plain sentences lack."""
    if (
        _SIGN.search(text)
        or _COMMAND.search(text)
        or text.find(".", 0, -1) >= 0
        or _HYPHEN.search(text)
    ):
        return True
    return _LATER_CAPITAL.search(text) is not None and (
        _CAMEL.search(text) is not None or _MARK.search(text) is not None
    )


def _find_names(text: str) -> Iterator[Span]:
    """Yield the spans of names, in order and disjoint."""
    if not _MARK.search(text):
        return
    for match in _NAMES.finditer(text):
        start, end = match.span()
        if article := _FUNCTION_WORDS.match(text, start, end):
            start = article.end()
        yield Span(start, end)
