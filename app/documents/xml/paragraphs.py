"""Finds the paragraphs of XML, one at a time, so that only its tokens are in memory."""

from collections.abc import Callable, Collection, Iterable, Iterator
from io import StringIO

from app.errors import UnreadableFileError
from app.text.document import Document
from app.text.markup.tokens import Token

MAX_TOKENS = 50_000
"""Maximum tags and texts of a paragraph; one with 3,000 revisions has half as many."""

MAX_NESTED = 4
"""Maximum nesting of paragraphs, in boxes within boxes; deeper ones are not translated."""


def paragraphs(
    tokens: Iterable[Token],
    names: Collection[str],
    read: Callable[[list[Token]], str | Document],
    copied: Collection[str] = (),
) -> Iterator[str | Document]:
    """Yield the elements with these names as `read` returns them, and the XML between them.

    Nothing within elements named in `copied`, or with translate="no", is read. Raises
    `UnreadableFileError` if a paragraph is too long.
    """
    remaining = iter(tokens)
    between = StringIO()
    for token in remaining:
        if token.kind == "open" and token.name in names and token.translate:
            yield between.getvalue()
            yield read([token, *_rest_of_element(token.name, remaining)])
            between = StringIO()
            continue
        between.write(token.raw)
        if token.kind == "open" and (token.name in copied or not token.translate):
            for inner in _rest_of_element(token.name, remaining, is_limited=False):
                between.write(inner.raw)
    yield between.getvalue()


def raw_of(tokens: Iterable[Token]) -> str:
    """Return the XML of tokens."""
    return "".join(token.raw for token in tokens)


def _rest_of_element(
    name: str, tokens: Iterator[Token], *, is_limited: bool = True
) -> Iterator[Token]:
    depth = 1
    for number, token in enumerate(tokens, 2):
        if is_limited and number > MAX_TOKENS:
            raise UnreadableFileError(f"a paragraph may have {MAX_TOKENS:,} tags and texts")
        yield token
        if token.name == name:
            depth += (token.kind == "open") - (token.kind == "close")
        if not depth:
            return
