"""HTML and XML as texts to translate, and as a document again, with every tag once.

What is between two blocks' tags is one text, with its inline tags lifted out. Everything else stays
where it is, to the last character. In a translation `<`, `>` and `&` are escaped anew, so that
escaped text never becomes a tag.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.inline_tags import Element, WordLink, put_tags
from app.markup_tokens import UNREAD, Format, Token, end_of_element, tokens
from app.placeholders import ATOM
from app.spans import Span

MAX_DEPTH = 100
"""Inline elements within each other; those further in stay where they are."""

_BLOCKS = frozenset(
    """address article aside base blockquote body br button canvas caption center col colgroup dd
    details dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4
    h5 h6 head header hgroup hr html iframe legend li link main map menu menuitem meta nav noframes
    noscript object ol optgroup option p param picture pre section select slot source summary table
    tbody td template tfoot th thead title tr track ul video""".split()  # noqa: SIM905
)
_XML_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ENTITY = re.compile(r"&(?:#[0-9]+|#[xX][0-9a-fA-F]+|[\w.:-]+);")
# No XML can hold the characters that are left out, and a model may produce any.
_ILLEGAL = [*range(9), 11, 12, *range(14, 32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | dict.fromkeys(map(chr, _ILLEGAL), "")
)
_ATOM_MARKS = re.compile("[\ue000\ue001]")


@dataclass(frozen=True, slots=True)
class MarkupOptions:
    """Names of elements, beside what the markup itself says.

    ignored        not translated
    splitting      a text ends at their tags
    non_splitting  their tags are moved with the words, though a text would end there
    outline        of XML: whether it says itself where a text ends, beside `splitting`
    """

    ignored: frozenset[str] = frozenset()
    splitting: frozenset[str] = frozenset()
    non_splitting: frozenset[str] = frozenset()
    outline: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """A text's translation; `links` between its words, where there are any to be had."""

    text: str
    links: Sequence[WordLink] | None = None


class _Block:
    """A text with the inline elements in it. `atoms` are pieces of markup that are one word."""

    def __init__(self, row: Sequence[Token], markup: Format) -> None:
        self.raw = "".join(token.raw for token in row)
        self._markup = markup
        self._atoms: list[str] = []
        self._escapes = _ESCAPES.copy()
        parts: list[str] = []
        length = 0
        root = Element("", "", Span(0, 0))
        opened = [(root, 0)]
        for token in row:
            if token.kind == "text":
                parts.append(self._plain(token.raw))
            elif token.kind == "opaque":
                parts.append(self._atom(token.raw))
            elif token.kind == "close":
                element, start = opened.pop()
                element.closing, element.span = token.raw, Span(start, length)
            else:
                element = Element(token.raw, "", Span(length, length))
                opened[-1][0].children.append(element)
                if token.kind == "open":
                    opened.append((element, length))
            length += len(parts[-1]) if token.kind in ("text", "opaque") else 0
        self.text = "".join(parts)
        root.span = Span(0, length)
        self._root = root

    @property
    def is_tagged(self) -> bool:
        """Whether there are inline elements in it."""
        return bool(self._root.children)

    def with_translation(self, answer: Answer) -> str:
        """The translation, with the tags; the block as it was where nothing was translated."""
        if answer.text == self.text:
            return self.raw
        return put_tags(self._root, self.text, answer.text, answer.links, self._escaped)

    def _plain(self, raw: str) -> str:
        """Without entities; one that only a document type knows becomes an atom."""
        raw = _ATOM_MARKS.sub(lambda mark: self._atom(mark[0]), raw)
        return _ENTITY.sub(self._character, raw) if self._markup == "xml" else self._html(raw)

    def _html(self, raw: str) -> str:
        for entity in _ENTITY.findall(raw):
            self._remember(html.unescape(entity), entity)
        return html.unescape(raw)

    def _character(self, entity: re.Match[str]) -> str:
        name = entity[0][1:-1]
        if name.startswith("#"):
            character = html.unescape(entity[0])
        else:
            character = _XML_ENTITIES.get(name, "")
        if len(character) != 1:
            return self._atom(entity[0])
        self._remember(character, entity[0])
        return character

    def _remember(self, character: str, entity: str) -> None:
        if len(character) == 1:
            self._escapes[ord(character)] = entity

    def _atom(self, raw: str) -> str:
        self._atoms.append(raw)
        return f"\ue000{len(self._atoms) - 1}\ue001"

    def _escaped(self, text: str) -> str:
        """A character that the block has as an entity is written as that."""
        escaped = text.translate(self._escapes)
        return ATOM.sub(lambda atom: self._atoms[int(atom[0][1:-1])], escaped)


class MarkupDocument:
    """A document or fragment. Raises `MarkupError` for XML that is not well-formed."""

    def __init__(self, document: str, markup: Format, options: MarkupOptions | None = None) -> None:
        self._markup = markup
        self._options = options or MarkupOptions()
        row = _atomic(tokens(document, markup), self._options)
        self._inline = _xml_inline(row) if markup == "xml" else frozenset[int]()
        self._parts: list[str | _Block] = list(self._cut(row))

    @property
    def texts(self) -> list[str]:
        """What is to be translated, without tags and entities."""
        return [part.text for part in self._parts if isinstance(part, _Block)]

    @property
    def tagged(self) -> list[bool]:
        """Of every text, whether there are inline elements in it."""
        return [part.is_tagged for part in self._parts if isinstance(part, _Block)]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        """The document with the texts' translations."""
        waiting = iter(answers)
        return "".join(
            part.with_translation(next(waiting)) if isinstance(part, _Block) else part
            for part in self._parts
        )

    def _cut(self, row: Sequence[Token]) -> Iterator[str | _Block]:
        """The blocks, and what is between them."""
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
        """A block, or several: a tag without its partner in the run stays where it is."""
        unmatched = _unmatched(run)
        if unmatched:
            start = 0
            for at in [*sorted(unmatched), len(run)]:
                yield from self._blocks(run[start:at])
                yield from (token.raw for token in run[at : at + 1])
                start = at + 1
        elif run:
            block = _Block(run, self._markup)
            yield block if any(map(str.isalpha, block.text)) else block.raw


def _atomic(row: Sequence[Token], options: MarkupOptions) -> list[Token]:
    """With every element that is not to be translated as one opaque token."""
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
    """Where the tags are of elements that stand among text, so that they are part of it."""
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


def _unmatched(run: Sequence[Token]) -> set[int]:
    opened: list[int] = []
    unmatched: set[int] = set()
    for at, token in enumerate(run):
        if token.kind == "open":
            opened.append(at)
            if len(opened) > MAX_DEPTH:
                unmatched.add(at)
        elif token.kind == "close":
            matches = opened and run[opened[-1]].name == token.name
            if not matches or opened.pop() in unmatched:
                unmatched.add(at)
    return unmatched | set(opened)
