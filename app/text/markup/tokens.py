"""Tokenises HTML and XML; the joined tokens reproduce the document exactly.

No trees are built: lxml, html5lib and selectolax do not report the position of nodes in the text,
and their serialisation changes quotes, entities and spaces. Python's `html.parser` and expat report
where each token starts.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import pairwise
from typing import Literal, Protocol, TypeAlias
from xml.parsers import expat

from app.concurrency.threads import check_abandoned
from app.errors import UnreadableFileError

Format = Literal["html", "xml"]

Kind = Literal["text", "open", "close", "void", "comment", "opaque"]
"""opaque: not read: scripts, declarations, instructions, CDATA, untranslated elements."""

VOID = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905
)
UNREAD = frozenset("script style textarea template svg math iframe noembed xmp".split())  # noqa: SIM905

MAX_DEPTH = 100
"""Maximum nesting of inline elements; deeper ones stay in place."""

MAX_TOKENS = 400_000
"""Maximum of a document that is read as a whole. One takes 250 bytes in HTML, 120 in XML."""

Attributes: TypeAlias = dict[str, str | None]


class MarkupError(ValueError):
    """XML is not well-formed; the message has the position."""


@dataclass(frozen=True, slots=True)
class Token:
    """A raw part of the document; `name` of a tag, in lower case for HTML."""

    kind: Kind
    raw: str
    name: str = ""
    translate: bool = True


def tokens(document: str, markup: Format) -> list[Token]:
    """Return the document's tokens; each opaque part is one.

    Raises `MarkupError`, and `UnreadableFileError` if there are more than `MAX_TOKENS`.
    """
    found: list[Token] = []
    each = _html_tokens(document) if markup == "html" else xml_tokens(document)
    for token in each:
        found.append(token)
        _check_number(len(found))
    return found


def _check_number(n_tokens: int) -> None:
    if n_tokens > MAX_TOKENS:
        raise UnreadableFileError(
            f"a document may have {MAX_TOKENS:,} tags, comments and texts between them"
        )


class _Lexer(HTMLParser):
    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=False)
        self._lines = [0, *(match.end() for match in re.finditer("\n", document))]
        self.starts: list[tuple[int, Kind, str, bool]] = []
        self.feed(document)
        self.close()

    def _add(self, kind: Kind, name: str = "", translate: bool = True) -> None:
        check_abandoned()
        if kind == "text" and self.starts and self.starts[-1][1] == "text":
            return  # entities belong to the text around them
        line, column = self.getpos()
        self.starts.append((self._lines[line - 1] + column, kind, name, translate))
        _check_number(len(self.starts))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._add("void" if tag in VOID else "open", tag, _is_translated(dict(attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # the slash has no meaning in HTML

    def handle_endtag(self, tag: str) -> None:
        self._add("close", tag)

    def handle_data(self, _: str) -> None:
        self._add("text")

    def handle_entityref(self, _: str) -> None:
        self._add("text")

    def handle_charref(self, _: str) -> None:
        self._add("text")

    def handle_comment(self, _: str) -> None:
        self._add("comment")

    def handle_decl(self, _: str) -> None:
        self._add("opaque")

    def handle_pi(self, _: str) -> None:
        self._add("opaque")

    def unknown_decl(self, _: str) -> None:
        self._add("opaque")


def _is_translated(attributes: Attributes) -> bool:
    excluded = (attributes.get("translate") or "").strip().lower() == "no"
    return not excluded and "notranslate" not in (attributes.get("class") or "").split()


def _html_tokens(document: str) -> Iterator[Token]:
    # After the last > no tag is complete; html.parser would search for its end repeatedly.
    end_of_tags = document.rfind(">") + 1
    starts = _Lexer(document[:end_of_tags]).starts
    starts.insert(0, (0, "opaque", "", True))  # </> at the beginning, which the parser leaves out
    if starts[-1][1] != "text":  # else the rest continues it
        starts.append((end_of_tags, "text", "", True))
    starts.append((len(document), "text", "", True))
    for (start, kind, name, translate), (end, *_) in pairwise(starts):
        raw = document[start:end]
        # A bogus comment stays in place, since browsers may find its end elsewhere.
        bogus = kind == "comment" and not (raw.startswith("<!--") and raw.endswith("-->"))
        if raw:
            yield Token("opaque" if bogus else kind, raw, name, translate and name not in UNREAD)


_XML_TAG = re.compile(r"<(/?)([^\s/>!?][^\s/>]*)")
_XML_ATTRIBUTE = re.compile(r"""(?<=\s)([^\s=]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_ROOT = "attend-root"


_MAX_DEPTH = 100_000
"""Maximum nesting of elements; expat takes 280 bytes for each."""


def xml_tokens(document: str, *, max_depth: int | None = None) -> Iterator[Token]:
    """Yield the tokens of XML, whose list would take 50 times the memory of the document.

    The document may be a fragment, without a root or with several. Raises `MarkupError`: before the
    first token if it is not well-formed, at an element nested deeper than `max_depth`.
    """
    depth = 0
    for token in _xml_tokens(document):
        depth += (token.kind == "open") - (token.kind == "close")
        if max_depth is not None and depth > max_depth:
            raise MarkupError(f"elements are nested more than {max_depth} deep")
        yield token


def _xml_tokens(document: str) -> Iterator[Token]:
    is_fragment = False
    try:
        raws = _xml_raws(document)
    except expat.ExpatError as error:
        root = f"<{_ROOT}>"
        try:
            raws = _xml_raws(f"{root}{document}</{_ROOT}>", is_inner=True)
        except expat.ExpatError as of_fragment:
            if document.lstrip().startswith(("<?", "<!DOCTYPE")):
                raise _not_well_formed(error, 0) from None
            raise _not_well_formed(of_fragment, len(root)) from None
        is_fragment = True
    read = is_fragment  # before the root there is only a document type or whitespace
    in_cdata = False
    for raw in raws:
        tag = _XML_TAG.match(raw)
        in_cdata = in_cdata or raw == "<![CDATA["
        read = read or tag is not None
        if in_cdata or not read or raw.startswith(("<?", "<!")):
            yield Token("comment" if raw.startswith("<!--") and not in_cdata else "opaque", raw)
            in_cdata = in_cdata and raw != "]]>"
        elif tag:
            attributes: Attributes = {
                name: one or other for name, one, other in _XML_ATTRIBUTE.findall(raw)
            }
            kind: Kind = "close" if tag[1] else "void" if raw.endswith("/>") else "open"
            yield Token(kind, raw, tag[2], _is_translated(attributes))
        else:
            yield Token("text", raw)


def _not_well_formed(error: expat.ExpatError, shift: int) -> MarkupError:
    column = error.offset + 1 - (shift if error.lineno == 1 else 0)
    reason = expat.errors.messages[error.code]
    return MarkupError(f"not well-formed XML: {reason}, line {error.lineno}, column {column}")


def _xml_raws(document: str, *, is_inner: bool = False) -> Iterator[str]:
    """Collect the positions of the tokens that expat finds, unexpanded.

    The whole document is read before the first token is passed on; with `is_inner`, the root's own
    tags are omitted. Raises `MarkupError` for elements nested more than `_MAX_DEPTH` deep.
    """
    encoded = document.encode("utf-8")
    parser = expat.ParserCreate("utf-8")
    starts = array("Q")
    depth = 0

    def opened(*_: object) -> None:
        nonlocal depth
        starts.append(parser.CurrentByteIndex)
        depth += 1
        if depth > _MAX_DEPTH:
            raise MarkupError(f"elements are nested more than {_MAX_DEPTH:,} deep")

    def closed(_: str) -> None:
        nonlocal depth
        depth -= 1
        at = parser.CurrentByteIndex  # of an empty element: behind it
        if at > starts[-1] and encoded.startswith(b"</", at):
            starts.append(at)

    parser.DefaultHandler = lambda _: starts.append(parser.CurrentByteIndex)
    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.Parse(encoded, True)
    if is_inner:
        starts = starts[1:]
    else:
        starts.append(len(encoded))
    return (encoded[start:end].decode("utf-8") for start, end in _with_joined_text(encoded, starts))


def _with_joined_text(encoded: bytes, starts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where tokens start and end; a text that expat passes on in pieces is one token.

    `&#39;` is a piece, and each takes 150 bytes as a token.
    """
    text_start: int | None = None
    for start, end in pairwise(starts):
        check_abandoned()
        if not encoded.startswith((b"<", b"]]>"), start, end):
            text_start = start if text_start is None else text_start
            continue
        if text_start is not None:
            yield text_start, start
            text_start = None
        if start < end:
            yield start, end
    if text_start is not None:
        yield text_start, starts[-1]


def end_of_element(row: Sequence[Token], start: int) -> int:
    """Return the index after the element that starts at `start`; the end of the row if unclosed."""
    if row[start].kind != "open":
        return start + 1
    depth = 0
    for at in range(start, len(row)):
        if row[at].name == row[start].name:
            depth += (row[at].kind == "open") - (row[at].kind == "close")
        if not depth:
            return at + 1
    return len(row)


class Tag(Protocol):
    """The key for pairing: `open` and `close` tags of an element have the same name."""

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...


def unmatched(row: Sequence[Tag]) -> set[int]:
    """Return the indices of tags without a partner, or nested deeper than `MAX_DEPTH`."""
    opened: list[int] = []
    alone: set[int] = set()
    for at, token in enumerate(row):
        if token.kind == "open":
            opened.append(at)
            if len(opened) > MAX_DEPTH:
                alone.add(at)
        elif token.kind == "close":
            matches = opened and row[opened[-1]].name == token.name
            if not matches or opened.pop() in alone:
                alone.add(at)
    return alone | set(opened)
