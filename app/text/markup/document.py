"""Extracts texts from HTML and XML, and inserts translations with each tag exactly once.

The content between block tags is one text, with inline tags lifted out. Everything else is
unchanged. In translations, `<`, `>` and `&` are escaped, so that escaped text never becomes a tag.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO

from app.text.document import Answer, Parts, SingleText
from app.text.markup.escaped_tags import escaped_elements, unescaped
from app.text.markup.references import INVISIBLE, MAX_REFERENCES, Reference
from app.text.markup.tagged_text import Piece, TaggedText
from app.text.markup.tokens import UNREAD, Format, Token, end_of_element, tokens, unmatched

_BLOCKS = frozenset(
    """address article aside base blockquote body br button canvas caption center col colgroup dd
    details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4
    h5 h6 head header hgroup hr html iframe legend li link main map menu menuitem meta nav noframes
    noscript object ol optgroup option p param picture pre section select slot source summary table
    tbody td template tfoot th thead title tr track ul video""".split()  # noqa: SIM905
)
_XML_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[\w.:-]+);")
# XML cannot contain the omitted characters, and a model may produce any.
_ILLEGAL = [*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
XML_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | dict.fromkeys(map(chr, _ILLEGAL), "")
)
"""Escapes for text between tags."""


@dataclass(frozen=True, slots=True)
class MarkupOptions:
    """Element names, in addition to the markup's own rules.

    ignored        not translated
    splitting      their tags divide the text
    non_splitting  their tags move with the words, instead of dividing the text
    outline        for XML: whether its structure divides the text, in addition to `splitting`
    """

    ignored: frozenset[str] = frozenset()
    splitting: frozenset[str] = frozenset()
    non_splitting: frozenset[str] = frozenset()
    outline: bool = True


_NO_OPTIONS = MarkupOptions()


class _Block(SingleText):
    """A text with inline elements; entities defined by a document type are atoms."""

    __slots__ = ("_content", "is_tagged", "raw", "text")  # a document may have 50,000

    def __init__(self, row: Sequence[Token], markup: Format) -> None:
        self.raw = "".join(token.raw for token in row)
        self._content = TaggedText(_pieces(row, markup))
        self.text = self._content.text
        self.is_tagged = self._content.is_tagged

    def written(self, answer: Answer) -> str:
        """Return the translation with tags; the unchanged block if nothing was translated."""
        if answer.text == self.text:
            return self.raw
        return self._content.with_translation(answer, lambda text: text.translate(XML_ESCAPES))


def _pieces(row: Sequence[Token], markup: Format) -> Iterator[Piece]:
    for token in row:
        if token.kind == "text":
            for piece in escaped_elements(token.raw, _BLOCKS):
                if piece.kind == "text":
                    yield from _decoded(piece.raw, markup)
                else:
                    yield piece
        elif token.kind == "opaque":
            yield Piece("atom", token.raw)
        else:
            yield Piece("void" if token.kind == "comment" else token.kind, token.raw)


def _decoded(raw: str, markup: Format) -> Iterator[Piece]:
    """Yield the text that raw text stands for; invisible characters move with the words."""
    at = 0
    text = StringIO()
    references: list[Reference] = []
    for match in _ENTITY.finditer(raw):
        character = _character(match[0], markup)
        if len(character) > 1:  # not known, or of several characters
            continue
        text.write(_unescaped(raw[at : match.start()], markup))
        at = match.end()
        if character and character not in INVISIBLE:
            # Digits are used in marks of atoms.
            if not character.isdigit() and len(references) <= MAX_REFERENCES:
                references.append(Reference(text.tell(), match[0]))
            text.write(character)
            continue
        yield Piece("text", text.getvalue(), references)
        text, references = StringIO(), []
        yield Piece("void" if character else "atom", match[0])
    text.write(_unescaped(raw[at:], markup))
    yield Piece("text", text.getvalue(), references)


def _unescaped(raw: str, markup: Format) -> str:
    """Return a text without complete references; browsers also read `&copy 2024`."""
    return unescaped(raw) if markup == "html" and "&" in raw else raw


@lru_cache(maxsize=4096)
def _character(entity: str, markup: Format) -> str:
    """Return what an entity stands for, empty if the document may define it."""
    name = entity[1:-1]
    if markup == "html" or name.startswith("#"):
        return unescaped(entity)
    return _XML_ENTITIES.get(name, "")


class MarkupDocument(Parts):
    """A document or fragment. Raises `MarkupError` for XML that is not well-formed."""

    def __init__(self, document: str, markup: Format, options: MarkupOptions = _NO_OPTIONS) -> None:
        self._markup = markup
        self._options = options
        row = _atomic(tokens(document, markup), self._options)
        self._inline = _xml_inline(row) if markup == "xml" else frozenset[int]()
        super().__init__(self._cut(row))

    def _cut(self, row: Sequence[Token]) -> Iterator[str | _Block]:
        run: list[Token] = []
        preformatted = 0
        for at, token in enumerate(row):
            if token.name == "pre":
                preformatted += (token.kind == "open") - (token.kind == "close")
            if self._is_boundary(at, token):
                yield from self._blocks(run)
                yield token.raw
                run = []
            elif token.kind == "text" and preformatted > 0:
                *lines, rest = re.split(r"(?<=\n)", token.raw)
                for line in lines:
                    yield from self._blocks([*run, Token("text", line[:-1])])
                    yield "\n"
                    run = []
                run.append(Token("text", rest))
            else:
                run.append(token)
        yield from self._blocks(run)

    def _is_boundary(self, at: int, token: Token) -> bool:
        if token.kind in ("text", "comment"):
            return False
        if token.kind == "opaque":
            return token.name == ""
        if token.name in self._options.splitting:
            return True
        if token.name in self._options.non_splitting:
            return False
        if self._markup == "html":
            return token.name in _BLOCKS
        return self._options.outline and at not in self._inline

    def _blocks(self, run: Sequence[Token]) -> Iterator[str | _Block]:
        """Yield a block, or several: a tag without its partner in the run stays in place."""
        if alone := unmatched(run):
            start = 0
            for at in [*sorted(alone), len(run)]:
                yield from self._blocks(run[start:at])
                yield from (token.raw for token in run[at : at + 1])
                start = at + 1
        elif run:
            block = _Block(run, self._markup)
            yield block if any(map(str.isalpha, block.text)) else block.raw


def _atomic(row: Sequence[Token], options: MarkupOptions) -> list[Token]:
    """Replace each element that is not translated by one opaque token."""
    found: list[Token] = []
    at = 0
    while at < len(row):
        token = row[at]
        if token.kind in ("open", "void") and (
            not token.translate or token.name in options.ignored
        ):
            end = end_of_element(row, at)
            raw = "".join(one.raw for one in row[at:end])
            is_word = token.kind == "open" and any(one.kind == "text" for one in row[at:end])
            apart = token.name in _BLOCKS | UNREAD | options.splitting
            found.append(Token("opaque", raw, token.name if is_word and not apart else ""))
            at = end
        else:
            found.append(token)
            at += 1
    return found


def _xml_inline(row: Sequence[Token]) -> frozenset[int]:
    """Return the indices of tags of elements that are mixed with text."""
    children: list[list[int]] = [[]]
    mixed: list[bool] = [False]
    inline: set[int] = set()

    def close() -> None:
        if mixed.pop():
            inline.update(children[-1])
        children.pop()

    for at, token in enumerate(row):
        if token.kind == "text":
            mixed[-1] = mixed[-1] or bool(token.raw.strip())
        elif token.kind in ("open", "void"):
            children[-1].append(at)
            if token.kind == "open":
                children.append([])
                mixed.append(False)
        elif token.kind == "close":
            close()
            children[-1].append(at)
    close()
    return frozenset(inline)
