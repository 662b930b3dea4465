"""Scripts by how they write words, which a count of words or a line break has to know."""

from __future__ import annotations

import re

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u3190-\u9fff"
    r"\U00020000-\U0003ffff"
)
_HANGUL = r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"

UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A letter of Thai, Lao, Burmese, Khmer, Chinese or Japanese: no blanks between words."""

FEW_BLANKS = re.compile(f"[{_UNSPACED}{_HANGUL}]")
"""A letter of one of those, or of Korean, whose blanks separate phrases, each of which takes two or
three words in English. A line may be broken at them, but counting them does not count words."""
