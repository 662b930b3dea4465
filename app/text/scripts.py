"""Scripts without spaces between words, for counting words and breaking lines."""

import re

_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u312f\u3190-\u9fff"
    r"\U00020000-\U0003ffff"
)
_HANGUL = r"\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"

UNSPACED = re.compile(f"[{_UNSPACED}]")
"""A letter of Thai, Lao, Burmese, Khmer, Chinese or Japanese: no spaces between words."""

FEW_SPACES = re.compile(f"[{_UNSPACED}{_HANGUL}]")
"""A letter of one of those, or of Korean, whose spaces separate phrases of two or three English
words: lines may be broken at them, but counting them does not count words."""
