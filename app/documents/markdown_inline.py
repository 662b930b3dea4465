"""Parses the inside of a Markdown paragraph into text and tags, with their positions.

markdown-it-py returns tokens without positions, so its rules are wrapped to record which characters
each of them consumed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.parser_block import RuleFuncBlockType
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.documents.prose import is_code
from app.text.markup.tokens import VOID, unmatched

EMPHASIS = ("em", "strong", "s")
"""Tags that a translation may lose."""

MarkKind = Literal["text", "open", "close", "void", "atom", "break"]

_HTML = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_UNPARSED = re.compile(r"(?P<void>\[\^[^\]\s]+\])|(?P<atom>\$(?!\s)[^$\n]+(?<!\s)\$(?!\d))")
"""Syntax of common extensions: footnotes and formulas."""


FOREIGN = (
    r"(?::::|(?:\{\{[<%][^{}]*[>%]\}\}|\{%[^{}]*%\}|\{:[^{}]*\}|\{/\*[^{}]*\*/\})[ \t]*$"
    r"""|import\s.*["'];?[ \t]*$|(?:!!!|\?\?\?\+?)[ ]\w)"""
)
"""Lines of other dialects: containers, shortcodes, Liquid, attributes, MDX, admonitions."""

_FOREIGN = re.compile(FOREIGN)

NOTE_LABEL = re.compile(r"\[\^[^\]\s]+\]:[ \t]*")
"""The start of a footnote: `[^1]: This is the note.`"""


@dataclass(frozen=True, slots=True)
class Mark:
    """A part of a paragraph; `raw` is its source, but for text unescaped.

    reference  the source of a text that is a character reference, such as `&nbsp;`
    """

    kind: MarkKind
    raw: str
    name: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Inline:
    """A paragraph's marks with their positions, and the source of its escaped characters."""

    marks: list[Mark]
    starts: list[int]
    escapes: dict[str, str]


class Structure(NamedTuple):
    """Everything in a paragraph except text, without its order."""

    emphasis: Counter[str]
    others: Counter[str]


class InlineReader:
    """Parses the paragraphs of one document, whose link definitions are in `env`."""

    def __init__(self, markdown: MarkdownIt, env: EnvType) -> None:
        self._markdown = markdown
        self._env = env

    def read(self, content: str) -> Inline:
        marks: list[Mark] = []
        starts: list[int] = []
        escapes: dict[str, str] = {}
        at = 0
        for token, start, end in [*_located(self._tokens(content)), (None, len(content), 0)]:
            found = list(_unparsed(content, at, start))
            if token is not None:
                begin = start
                if token.type in ("softbreak", "hardbreak"):
                    begin = at + len(content[at:start].rstrip(" "))
                    found = list(_unparsed(content, at, begin))
                if token.type == "softbreak" and not found and marks and marks[-1].name == "br":
                    found = [(Mark("break", content[begin:end]), begin)]
                else:
                    found += [(mark, begin) for mark in _marks(token, content, begin, end)]
                character = token.content
                if token.type == "text_special" and content[start] == "\\":
                    escapes[character] = content[start:end]
            marks += [mark for mark, _ in found]
            starts += [begin for _, begin in found]
            at = end
        for alone in unmatched(marks):
            marks[alone] = Mark("void", marks[alone].raw)
        return Inline(*_with_whole_links(content, marks, starts), escapes)

    def structure(self, content: str) -> Structure:
        structure = Structure(Counter(), Counter())
        for token in self._tokens(content):
            if token.type not in ("text", "text_special", "softbreak"):
                counter = structure.emphasis if token.tag in EMPHASIS else structure.others
                counter[f"{token.type} {token.attrs} {token.content}"] += 1
        return structure

    def _tokens(self, content: str) -> list[Token]:
        return self._markdown.inline.parse(content, self._markdown, self._env, [])


def new_markdown() -> MarkdownIt:
    """CommonMark with tables and strikethrough; `InlineReader` parses the paragraphs."""
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    markdown.disable(["inline", "text_join", "fragments_join"])
    blocks = markdown.block.ruler
    [reference] = [rule for rule in blocks.__rules__ if rule.name == "reference"]
    blocks.at("reference", _except_footnotes(reference.fn))
    blocks.before("reference", "note", _starts_footnote, {"alt": ["paragraph", "reference"]})
    ended = ["paragraph", "reference", "blockquote", "list"]
    blocks.before("table", "foreign", _skips_foreign_line, {"alt": ended})
    ruler = markdown.inline.ruler
    for rule in list(ruler.__rules__):
        if rule.name not in ("text", "linkify"):
            ruler.at(rule.name, _recording(rule.name, rule.fn))
    return markdown


def _is_footnote(state: StateBlock, line: int) -> bool:
    start = state.bMarks[line] + state.tShift[line]
    return NOTE_LABEL.match(state.src, start, state.eMarks[line]) is not None


def _starts_footnote(state: StateBlock, line: int, _: int, silent: bool) -> bool:
    """Let a footnote end the paragraph before it; it is otherwise parsed as a paragraph."""
    return silent and _is_footnote(state, line)


def _skips_foreign_line(state: StateBlock, line: int, _: int, silent: bool) -> bool:
    start, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    is_foreign = not state.is_code_block(line) and _FOREIGN.match(state.src[start:end]) is not None
    if is_foreign and not silent:
        state.line = line + 1
    return is_foreign


def _except_footnotes(rule: RuleFuncBlockType) -> RuleFuncBlockType:
    """Wrap the rule for link definitions, which also matches footnotes of one word."""

    def wrapped(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        return not _is_footnote(state, line) and rule(state, line, end, silent)

    return wrapped


def _recording(name: str, rule: RuleFuncInlineType) -> RuleFuncInlineType:
    """Wrap a rule to record the span of each new token in its `meta`."""

    def recording(state: StateInline, silent: bool) -> bool:
        start = state.pos
        if silent:
            return rule(state, silent)
        if state.pending and name != "newline":  # which looks at the spaces before it
            state.pushPending()
        n_before = len(state.tokens)
        if not rule(state, silent):
            return False
        made = state.tokens[-1:] if name == "newline" else state.tokens[n_before:]
        if name in ("emphasis", "strikethrough"):
            at = start
            for token in made:
                token.meta["span"] = (at, at + len(token.content))
                at += len(token.content)
            return True
        for token in made:
            token.meta.setdefault("span", (start, state.pos))
        if name == "link":
            end = state.pos
            label_end = state.md.helpers.parseLinkLabel(state, start, True)
            state.pos = end
            made[0].meta["span"] = (start, start + 1)
            made[-1].meta["span"] = (label_end, end)
            made[-1].meta["label"] = state.src[start + 1 : label_end]
        return True

    return recording


def _located(tokens: Iterable[Token]) -> Iterator[tuple[Token, int, int]]:
    """Yield the tokens that are not text; both characters of strong emphasis count as one."""
    emptied: tuple[int, int] | None = None
    pending: tuple[Token, int, int] | None = None
    is_autolink = False
    for token in tokens:
        span = token.meta.get("span")
        if token.type == "link_open" and token.markup == "autolink":
            is_autolink = True
        elif is_autolink:
            is_autolink = token.type != "link_close"
            continue
        if span is None or (token.type == "text" and token.content):
            continue
        start, end = span
        if token.type == "text":
            if pending and pending[0].type == "strong_close" and pending[2] == start:
                yield pending[0], pending[1], end
                pending = None
            else:
                emptied = span
            continue
        if pending:
            yield pending
            pending = None
        if token.type == "strong_open" and emptied:
            start, emptied = emptied[0], None
        if token.type == "strong_close":
            pending = token, start, end
        else:
            yield token, start, end
    if pending:
        yield pending


def _marks(token: Token, content: str, start: int, end: int) -> Iterator[Mark]:
    raw = content[start:end]
    match token.type:
        case "text_special":
            is_reference = raw[0] == "&" and len(token.content) == 1
            yield Mark("text", token.content, reference=raw if is_reference else "")
        case "softbreak":
            yield Mark("text", " ")
        case "hardbreak":
            yield Mark("break", raw)
        case "code_inline":
            yield Mark("atom", raw)
        case "link_open" if token.markup == "autolink":
            yield Mark("atom", raw)
        case "link_close" if raw in ("]", "][]"):  # the label is the name of its target
            yield Mark("close", f"][{token.meta['label']}]", token.tag)
        case "html_inline":
            tag = _HTML.match(raw)
            name = tag[2].lower() if tag else ""
            is_pair = tag and name not in VOID and not raw.endswith("/>")
            kind: MarkKind = "void" if not tag or not is_pair else "close" if tag[1] else "open"
            yield Mark("break" if name == "br" else kind, raw, name)
        case "image":
            yield Mark("void", raw)
        case _:
            yield Mark("open" if token.nesting > 0 else "close", raw, token.tag)


def _with_whole_links(
    content: str, marks: list[Mark], starts: list[int]
) -> tuple[list[Mark], list[int]]:
    """Make a link one word if its label is the name of a file or function."""
    ends = [*starts[1:], len(content)]
    at = 0
    found: list[tuple[Mark, int]] = []
    while at < len(marks):
        kinds = [mark.kind for mark in marks[at : at + 3]]
        is_link = kinds == ["open", "text", "close"] and marks[at].name == "a"
        if is_link and is_code(marks[at + 1].raw):
            found.append((Mark("atom", content[starts[at] : ends[at + 2]]), starts[at]))
            at += 3
        else:
            found.append((marks[at], starts[at]))
            at += 1
    return [mark for mark, _ in found], [start for _, start in found]


def _unparsed(content: str, start: int, end: int) -> Iterator[tuple[Mark, int]]:
    at = start
    for found in _UNPARSED.finditer(content[start:end]):
        if at < start + found.start():
            yield Mark("text", content[at : start + found.start()]), at
        yield Mark("void" if found["void"] else "atom", found[0]), start + found.start()
        at = start + found.end()
    if at < end:
        yield Mark("text", content[at:end]), at
