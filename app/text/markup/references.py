"""Character references such as `&nbsp;` and `&#233;`: which characters of a translation get them.

The model reads the characters that they stand for, and may return others for them: a plain space,
three full stops, `et` for `&`. A translation has each reference at most once, for the character
that corresponds to the one in the source:

- a letter: the same letter of the same word, if that is copied
- spaces: those beside the same number, name or punctuation, else behind the linked word
- `…`, `&`, apostrophes and straight quotation marks: the one of the same rank, also if the
  translation spells it differently
- any other character: the equal one of the same rank
"""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from app.text.cldr import locale_of
from app.text.linked_words import LinkedWords
from app.text.spans import Span


class Reference(NamedTuple):
    """The character at a position of a text, as its markup writes it."""

    at: int
    raw: str


MAX_REFERENCES = 5000
"""Maximum of a text; the characters of a text with more are written as they are."""

INVISIBLE = frozenset("\u00ad\u200b\u200e\u200f\u2060\ufeff")
"""Soft hyphens, zero-width spaces and direction marks, which are removed before translation."""

_ELLIPSIS = re.compile(r"…|\.{3,}")
_APOSTROPHE = re.compile("['’]")
_QUOTE = re.compile(r'«\s?|\s?»|["“”„]')
_SPACES = re.compile(r"\s+")
_BEFORE_SPACE = frozenset("«([{§№#–—")
_BEHIND_SPACE = frozenset("!?:;»%‰°–—")
_CONTEXT = 20
"""Characters of a word that are compared, so that the time is linear."""

_FIRST_MARK = 0x100000
_LAST_MARK = 0x10FFFD


class Marked(NamedTuple):
    """A translation whose characters with references are marks, at the same positions.

    forms  what to write for each mark, as a table for `str.translate`
    """

    text: str
    forms: Mapping[int, str]


def marked(
    source: str,
    references: Sequence[Reference],
    translation: str,
    languages: tuple[str, str],
    linked: Callable[[], LinkedWords],
) -> Marked:
    """Replace the characters of a translation that its source's references stand for.

    languages  of both texts, for their words for `&`
    linked     returns the words of the translation, if they are needed
    """
    if any(ord(character) >= _FIRST_MARK for character in set(translation)):
        return Marked(translation, {})
    found: dict[Span, str] = {}
    for span, raw in _found(source, dict(references), translation, languages, linked):
        found.setdefault(span, raw)
    marks: dict[str, str] = {}
    forms = {_FIRST_MARK: ""}
    parts: list[str] = []
    at = 0
    for (start, end), raw in sorted(found.items()):
        if start < at or len(forms) > _LAST_MARK - _FIRST_MARK:
            continue
        if raw not in marks:
            marks[raw] = chr(_FIRST_MARK + len(forms))
            forms[ord(marks[raw])] = raw
        parts += [translation[at:start], marks[raw], chr(_FIRST_MARK) * (end - start - 1)]
        at = end
    return Marked("".join(parts) + translation[at:], forms)


def needs_links(source: str, references: Sequence[Reference]) -> bool:
    """Whether a space with a reference may have no copied word or punctuation beside it."""
    raws = dict(references)
    return any(
        _is_between_words(source, run) and not any(map(str.isdigit, "".join(_beside(source, run))))
        for run in _spaces(source, raws)
    )


def _found(
    source: str,
    raws: Mapping[int, str],
    translation: str,
    languages: tuple[str, str],
    linked: Callable[[], LinkedWords],
) -> Iterator[tuple[Span, str]]:
    characters = {source[at] for at in raws}
    if "…" in characters:
        yield from _of_rank(_ELLIPSIS, _ELLIPSIS, source, raws, translation, only="…")
    if characters & set("'’"):
        forms = {raws.get(m.start(), m[0]) for m in _APOSTROPHE.finditer(source)}
        if len(forms) == 1 and "’" in characters:
            form = forms.pop()
            yield from ((Span(*m.span()), form) for m in _APOSTROPHE.finditer(translation))
        else:
            yield from _of_rank(_APOSTROPHE, _APOSTROPHE, source, raws, translation)
    equal = {one for one in characters if not (one.isalpha() or one.isspace() or one in "'’…")}
    here, there = map(_conjunction, languages)
    for spelt, read, write in (('"', _QUOTE, _QUOTE), ("&", here, there)):
        if spelt in characters:
            pairs = [*_of_rank(read, write, source, raws, translation, only=spelt, is_strict=True)]
            equal -= {spelt} if pairs else set()
            yield from pairs
    if any(map(str.isspace, characters)):
        yield from _spaces_with_references(source, raws, translation, linked)
    yield from _letters(source, raws, translation)
    yield from _equal(equal, source, raws, translation)


def _of_rank(
    here: re.Pattern[str],
    there: re.Pattern[str],
    source: str,
    raws: Mapping[int, str],
    translation: str,
    *,
    only: str = "",
    is_strict: bool = False,
) -> Iterator[tuple[Span, str]]:
    """Yield what the first, second … match of a pattern is in both texts.

    only       the character that may be spelt differently
    is_strict  whether both texts must have as many
    """
    read, written = list(here.finditer(source)), list(there.finditer(translation))
    if is_strict and len(read) != len(written):
        return
    for one, other in zip(read, written, strict=False):
        if (raw := raws.get(one.start())) and only in ("", one[0]):
            yield Span(*other.span()), raw


def _letters(source: str, raws: Mapping[int, str], translation: str) -> Iterator[tuple[Span, str]]:
    letters = {source[at] for at in raws if source[at].isalpha()}
    if not letters:
        return
    waiting: dict[str, deque[str]] = defaultdict(deque)
    for at, begin in _beginnings(source, letters):
        if at in raws:
            waiting[begin].append(raws[at])
    for at, begin in _beginnings(translation, letters):
        if waiting.get(begin):
            yield Span(at, at + 1), waiting[begin].popleft()


def _beginnings(text: str, letters: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the positions of letters, with the word up to there in lower case."""
    for match in re.finditer("[" + re.escape("".join(letters)) + "]", text):
        start = at = match.start()
        while start > max(0, at - _CONTEXT) and text[start - 1].isalpha():
            start -= 1
        yield at, text[start : at + 1].casefold()


def _equal(
    characters: Container[str], source: str, raws: Mapping[int, str], translation: str
) -> Iterator[tuple[Span, str]]:
    """Yield the characters, paired by rank: the second `<` with the second `<`."""
    ranks: dict[str, deque[str | None]] = defaultdict(deque)
    for at, character in enumerate(source):
        if character in characters:
            ranks[character].append(raws.get(at))
    for at, character in enumerate(translation):
        if ranks.get(character) and (raw := ranks[character].popleft()):
            yield Span(at, at + 1), raw


def _spaces(source: str, raws: Mapping[int, str]) -> Iterator[Span]:
    for run in _SPACES.finditer(source):
        if any(at in raws for at in range(*run.span())):
            yield Span(*run.span())


def _spaces_with_references(
    source: str, raws: Mapping[int, str], translation: str, linked: Callable[[], LinkedWords]
) -> Iterator[tuple[Span, str]]:
    free = {Span(*run.span()): None for run in _SPACES.finditer(translation)}
    left = {
        run: "".join(raws.get(at, source[at]) for at in range(*run))
        for run in _spaces(source, raws)
    }
    for keys in (_both_words, _copied_words, _punctuation, _same):
        waiting: dict[object, deque[Span]] = defaultdict(deque)
        for run in free:
            for key in keys(translation, run):
                waiting[key].append(run)
        for run, raw in [*left.items()]:
            for key in keys(source, run):
                while (there := waiting.get(key)) and there[0] not in free:
                    there.popleft()
                if there:
                    yield there[0], raw
                    del left[run], free[there.popleft()]
                    break
    between = {run: raw for run, raw in left.items() if _is_between_words(source, run)}
    if not between:
        return
    words = linked()
    by_start = {run.start: run for run in free}
    points = words.points(0, len(words))
    for run, raw in between.items():
        word = points.after(run.start, 0) - 1
        behind = by_start.pop(words.word(word).end, None) if word >= 0 else None
        if behind:
            yield behind, raw


def _beside(text: str, run: Span) -> tuple[str, str]:
    """Return the ends of the words beside a space, empty at either end of the text."""
    before = text[max(0, run.start - _CONTEXT) : run.start].split()
    behind = text[run.end : run.end + _CONTEXT].split()
    return (before[-1] if before else ""), (behind[0] if behind else "")


def _both_words(text: str, run: Span) -> Iterator[object]:
    yield _beside(text, run)


def _copied_words(text: str, run: Span) -> Iterator[object]:
    """Yield each word beside a space; a translation has no word in lower case by copying it."""
    for side, word in enumerate(_beside(text, run) if _is_between_words(text, run) else ()):
        core = word.strip(".,;:!?…()«»\"'’“”")
        if core and not core.islower():
            yield side, core


def _punctuation(text: str, run: Span) -> Iterator[object]:
    before, behind = _beside(text, run)
    if behind[:1] in _BEHIND_SPACE:
        yield 1, behind[0]
    if before[-1:] in _BEFORE_SPACE:
        yield 0, before[-1]


def _same(text: str, run: Span) -> Iterator[object]:
    if not run.of(text).isascii():
        yield run.of(text)


def _is_between_words(text: str, run: Span) -> bool:
    """Whether the words or numbers beside a space call for it, or it is layout."""
    before, behind = _beside(text, run)
    if not (before and behind):
        return False
    by_punctuation = before[-1] in _BEFORE_SPACE or behind[0] in _BEHIND_SPACE
    return run.end - run.start > 1 or not by_punctuation


@cache
def _conjunction(language: str) -> re.Pattern[str]:
    """Return a pattern of `&` and a language's word for it, by the lists of CLDR."""
    locale = locale_of(language) if language else None
    pattern: str = locale.list_patterns.get("standard", {}).get("2", "") if locale else ""
    word = pattern.replace("{0}", "").replace("{1}", "").strip()
    return re.compile(rf"&|(?<!\w){re.escape(word)}(?!\w)" if word else "&", re.IGNORECASE)
