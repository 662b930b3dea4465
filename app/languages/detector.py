"""Detects the language of a text with lingua, in two passes.

The first distinguishes the served languages, by n-grams of one to five characters, which needs only
a word or two. The second covers many languages by trigrams only, so that a text in a language that
is not served is recognised instead of being assigned to the closest one. (With all n-grams of all
languages, lingua would take a gigabyte; see docs/detection.md.)
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from functools import lru_cache

from lingua import ConfidenceValue, Language
from lingua import LanguageDetector as Lingua
from lingua import LanguageDetectorBuilder as Builder

from app.concurrency.threads import step_back
from app.languages.detection import DetectedLanguage, sample
from model.text.language_codes import canonical_code, primary_language

CERTAIN = 0.99
"""Minimum probability to accept a language that is not served; see docs/detection.md."""

LEAST = 0.01
"""Minimum probability to report a language."""

MAX_PRECISE = 16
"""Served languages that are distinguished by n-grams of all lengths; more are by trigrams."""

DECIMALS = 4
"""Decimals of a probability."""

_CONFUSED = {
    Language.AFRIKAANS, Language.AZERBAIJANI, Language.BOSNIAN, Language.GANDA, Language.MALAY,
    Language.MAORI, Language.NYNORSK, Language.SHONA, Language.SOMALI, Language.SOTHO,
    Language.TAGALOG, Language.TSONGA, Language.TSWANA, Language.WELSH, Language.XHOSA,
    Language.YORUBA, Language.ZULU,
}  # fmt: skip
"""By trigrams, sentences in other languages are occasionally detected as one of these, English and
French ones as Tswana or Shona; detected only if served."""


def _language_of(code: str) -> str:
    return primary_language(canonical_code(code))


class LanguageDetector:
    """Detects languages. lingua loads n-grams on first use.

    languages  BCP-47 codes served, as source or target; codes that lingua does not know are never
               reported, and of several with the same primary language only the first is
    """

    def __init__(self, languages: Iterable[str]) -> None:
        self._served: dict[Language, str] = {}
        known = {_language_of(one.iso_code_639_1.name): one for one in Language.all()}
        for code in languages:
            if language := known.get(_language_of(code)):
                self._served.setdefault(language, code)
        self._all = (Language.all() - _CONFUSED) | self._served.keys()
        self._among_all = Builder.from_languages(*self._all).with_low_accuracy_mode().build()
        self._among_served: Lingua | None = None
        if len(self._served) > 1:  # lingua requires at least two
            among = Builder.from_languages(*self._served)
            if len(self._served) > MAX_PRECISE:  # all n-grams would take a gigabyte
                among = among.with_low_accuracy_mode()
            self._among_served = among.build()

    def detect(self, text: str) -> list[DetectedLanguage]:
        """Return the possible languages, best first; none without letters that lingua knows.

        Either all are served, or the first is not and the text is certainly in none of them.
        """
        if not text or not self._served:
            return []
        anything = _possible(self._among_all, text)
        if anything and anything[0].language not in self._served:
            is_certain = anything[0].value >= CERTAIN
            if is_certain or not any(one.language in self._served for one in anything):
                return self._rounded(anything)
        if self._among_served is None:
            return [DetectedLanguage(code, 1.0) for code in self._served.values()]
        return self._rounded(_possible(self._among_served, text))

    def _rounded(self, possible: Sequence[ConfidenceValue]) -> list[DetectedLanguage]:
        """Round probabilities, since lingua's order of summation varies between calls."""
        rounded = [
            DetectedLanguage(self._code(one.language), round(one.value, DECIMALS))
            for one in possible
            if one.value >= LEAST
        ]
        return sorted(rounded, key=lambda one: (-one.confidence, one.language))

    def _code(self, language: Language) -> str:
        return self._served.get(language, language.iso_code_639_1.name.lower())


def _possible(detector: Lingua, text: str) -> list[ConfidenceValue]:
    """Most probable first."""
    return [one for one in detector.compute_language_confidence_values(text) if one.value > 0]


def run() -> None:
    """Answer each line of the standard input, codes served and texts, with the texts' languages.

    It has the priority of an engine, below that of the server's event loop.
    """
    step_back()
    detector = lru_cache(maxsize=2)(LanguageDetector)
    for line in sys.stdin.buffer:
        languages, texts = json.loads(line)
        detect = detector(tuple(languages)).detect
        answers = [[astuple(one) for one in detect(sample(text))] for text in texts]
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()
