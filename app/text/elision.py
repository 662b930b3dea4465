"""French elision before a given word, which the model has not seen: `l'automobile`, `le matou`."""

import re
from collections.abc import Iterable, Iterator

from app.text.spans import Span

_VOWELS = frozenset("aeiouyàâéèêëîïôùûœæ")
_BEFORE = re.compile(r"(?<!\w)(?:(le|la|de|que|du|au)|(?:[ldnsmtjc]|qu)['’])[ ]$", re.IGNORECASE)
_ELIDED = {"le": "l'", "la": "l'", "de": "d'", "que": "qu'", "du": "de l'", "au": "à l'"}


def elisions(text: str, words: Iterable[tuple[int, str]]) -> Iterator[tuple[Span, str]]:
    """Yield what to replace, and by what, before words that start with a vowel.

    words  the position of each in the text, and the word
    """
    for at, word in words:
        if word[:1].lower() not in _VOWELS or word[1:2].isupper():
            continue  # the letters of abbreviations are named
        before = _BEFORE.search(text, max(at - 5, 0), at)
        if before is None:
            continue
        if before[1] is None:  # elided, with a blank
            yield Span(at - 1, at), ""
        else:
            elided = _ELIDED[before[1].lower()]
            is_capital = before[1][0].isupper()
            yield Span(before.start(), at), elided[0].upper() + elided[1:] if is_capital else elided


def is_elided_before(text: str, word: str) -> bool:
    """Whether a text has an elided article before a word that starts with a consonant."""
    if word[:1].lower() in _VOWELS | {"h"} or not word[:1].isalpha():
        return False
    return re.search(rf"(?<!\w)[ld]['’]{re.escape(word)}", text, re.IGNORECASE) is not None
