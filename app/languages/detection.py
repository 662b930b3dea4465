"""Detects the language of a text with lingua, in two passes.

The first distinguishes the served languages, by n-grams of one to five characters, which needs only
a word or two. The second covers many languages by trigrams only, so that a text in a language that
is not served is recognised instead of being assigned to the closest one. (With all n-grams of all
languages, lingua would take a gigabyte; see docs/detection.md.)

lingua holds the interpreter lock, so even in a thread it blocks the event loop during a text;
therefore only the beginning of a text is examined, and n-grams are loaded a few languages at a
time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from lingua import ConfidenceValue, Language
from lingua import LanguageDetector as Lingua
from lingua import LanguageDetectorBuilder as Builder

from model.text.language_codes import canonical_code, primary_language

SAMPLE = 500
"""Code points examined, from the first letter on: half a millisecond."""

CERTAIN = 0.99
"""Minimum probability to accept a language that is not served; see docs/detection.md."""

LEAST = 0.01
"""Minimum probability to report a language."""

MAX_PRECISE = 16
"""Served languages that are distinguished by n-grams of all lengths; more are by trigrams."""

DECIMALS = 4
"""Decimals of a probability."""

SAMPLES = ("The weather is nice.", "Погода хорошая.", "الطقس جميل.", "मौसम अच्छा है।")
"""Scripts of several languages each, whose n-grams lingua loads together."""

LONGEST_NGRAM = 5
"""Letters of lingua's longest n-grams."""

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


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """A language that a text may be in."""

    language: str = field(metadata={"description": "BCP-47 code, preferably of a served language"})
    confidence: float = field(
        metadata={"description": "0 … 1; for a served language, among the served ones"}
    )


class LanguageDetector:
    """Detects languages. lingua loads n-grams on first use, for all detectors of the process.

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

    def load(self) -> None:
        """Load all n-grams, so that no text waits for them; takes a second.

        Between two groups of languages, and n-grams of two lengths, other threads run.
        """
        for group in _groups(self._all, size=4):
            among = Builder.from_languages(*group).with_low_accuracy_mode().build()
            for sample in SAMPLES:
                _possible(among, sample)
        if len(self._served) <= MAX_PRECISE:
            for group in _groups(self._served, size=2):
                among = Builder.from_languages(*group).build()
                for sample in SAMPLES:
                    word = max(sample.split(), key=len)
                    for length in range(1, LONGEST_NGRAM + 1):
                        _possible(among, word[:length])
        for sample in SAMPLES:
            self.detect(sample)

    def detect(self, text: str) -> list[DetectedLanguage]:
        """Return the possible languages, best first; none without letters that lingua knows.

        Either all are served, or the first is not and the text is certainly in none of them.
        """
        sample = _sample(text)
        if not sample or not self._served:
            return []
        anything = _possible(self._among_all, sample)
        if anything and anything[0].language not in self._served:
            is_certain = anything[0].value >= CERTAIN
            if is_certain or not any(one.language in self._served for one in anything):
                return self._rounded(anything)
        if self._among_served is None:
            return [DetectedLanguage(code, 1.0) for code in self._served.values()]
        return self._rounded(_possible(self._among_served, sample))

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


def _groups(languages: Iterable[Language], size: int) -> list[list[Language]]:
    """Return groups of at most `size` languages, without a last one of a single language."""
    ordered = sorted(languages, key=lambda one: one.name)
    groups = [ordered[first : first + size] for first in range(0, len(ordered), size)]
    return [group for group in groups if len(group) > 1]


def _sample(text: str) -> str:
    first = next((index for index, character in enumerate(text) if character.isalpha()), len(text))
    return text[first : first + SAMPLE]


def _possible(detector: Lingua, sample: str) -> list[ConfidenceValue]:
    """Most probable first."""
    return [one for one in detector.compute_language_confidence_values(sample) if one.value > 0]
