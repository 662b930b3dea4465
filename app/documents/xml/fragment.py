"""Paragraphs of XML with inline elements, as OpenDocument and XLIFF have them.

Elements that are not part of the sentence are set aside, read like the rest, and put back.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.documents.xml.namespaces import Names, in_document
from app.documents.xml.paragraphs import MAX_NESTED, paragraphs, raw_of
from app.text.document import Answer, Document, Parts, translated
from app.text.markup.document import MarkupDocument, MarkupOptions
from app.text.markup.tokens import Token, end_of_element

_ASIDE = re.compile(r'<_(\d+)(?: translate="no">_</_\1>|/>)')
_SPACE = "&#0032;"
"""Replaces an element that stands for a space, so that it follows the words like a reference."""

_PROTECTED = re.compile(r"""\bmtype\s*=\s*["']protected["']""")


@dataclass(frozen=True)
class Vocabulary(Names):
    """The names of a format's elements.

    inline  elements whose content belongs to the sentence
    breaks  elements that end a text
    copied  elements in which nothing is translated
    fields  the prefix of other elements that count as a word if they have text
    space   an element that stands for a space, as Word writes it at the end of a span
    """

    inline: frozenset[str] = frozenset()
    breaks: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()
    fields: str | None = None
    space: str | None = None


def marked_paragraphs(tokens: Iterable[Token], names: Vocabulary) -> Parts:
    """Parse the paragraphs of a document. Raises `UnreadableFileError` if one is too long."""
    own_names, tokens = in_document(names, tokens)
    return Parts(_paragraphs(tokens, own_names, MAX_NESTED))


def _paragraphs(
    tokens: Iterable[Token], names: Vocabulary, levels: int
) -> Iterator[str | Document]:
    """Parse paragraphs that are nested `levels` deep at most."""

    def read(row: list[Token]) -> str | Document:
        opening, closing = row[0].raw, row[-1].raw
        del row[0], row[-1]
        raw = raw_of(row)
        fragment = Fragment(row, names, levels - 1)
        return Parts([opening, fragment, closing]) if fragment.texts else opening + raw + closing

    return paragraphs(tokens, names.paragraphs if levels else (), read, names.copied)


class Fragment:
    """The content of a paragraph, followed by the paragraphs in what is set aside.

    The row is emptied: tokens take 40 times the memory of the XML, which is parsed again.
    """

    __slots__ = ("_aside", "_content", "_space", "tagged", "texts")

    def __init__(self, row: list[Token], names: Vocabulary, levels: int = MAX_NESTED) -> None:
        self._aside: list[Parts] = []
        self._space = f"<{names.space}/>" if names.space else _SPACE
        xml = "".join(self._lifted(row, names, levels))
        row.clear()
        options = MarkupOptions(splitting=names.breaks, outline=False)
        self._content = MarkupDocument(xml, "xml", options)
        parts: list[Document] = [self._content, *self._aside]
        self.texts = [text for part in parts for text in part.texts]
        self.tagged = [tagged for part in parts for tagged in part.tagged]

    def with_translations(self, answers: Sequence[Answer]) -> str:
        content, *aside = translated([self._content, *self._aside], answers)
        content = content.replace(_SPACE, self._space)
        return _ASIDE.sub(lambda match: aside[int(match[1])], content)

    def _lifted(self, row: Sequence[Token], names: Vocabulary, levels: int) -> Iterator[str]:
        """Yield the XML with a numbered element for each that is set aside."""
        within = names.inline | names.breaks
        at = 0
        before = " "
        while at < len(row):
            token = row[at]
            before = token.raw if token.kind == "text" else before
            if token.raw == self._space and not before[-1].isspace():
                yield _SPACE
                before = " "
                at += 1
                continue
            is_protected = not token.translate or _PROTECTED.search(token.raw)
            if token.kind == "open" and (token.name not in within or is_protected):
                end = end_of_element(row, at)
                element = row[at:end]
                number = len(self._aside)
                self._aside.append(Parts(_paragraphs(element, names, levels)))
                is_word = is_protected or _is_field(element, names)
                yield f'<_{number} translate="no">_</_{number}>' if is_word else f"<_{number}/>"
                at = end
                continue
            if token.kind == "void" and token.name.startswith("_"):  # as if it were set aside
                self._aside.append(Parts([token.raw]))
                yield f"<_{len(self._aside) - 1}/>"
            else:
                yield token.raw
            at += 1


def _is_field(element: Sequence[Token], names: Vocabulary) -> bool:
    if names.fields is None or not element[0].name.startswith(names.fields):
        return False
    return any(one.kind == "text" for one in element) and not any(
        one.name in names.paragraphs for one in element
    )
