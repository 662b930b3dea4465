"""Reads each line in the language that it is in, for `attend translate --source auto`."""

from collections.abc import Callable
from itertools import count

from app.errors import UnknownLanguagesError
from app.languages.detection import DetectedLanguage, sample
from app.languages.served import Direction, Languages, described, fits, language_name
from app.translation.segments.layout import Layout
from app.translation.segments.reading import Reading
from app.translation.segments.segmented_text import SegmentedText
from app.translation.segments.untranslatable import Untranslatable
from model.checkpoint.config import CheckpointConfig
from model.errors import LanguageError


class DetectedLine(SegmentedText):
    """A line and its language; `detected` is None without evidence."""

    detected: DetectedLanguage | None = None


def detecting_reader(
    config: CheckpointConfig, target: str | None, reading: Callable[[Direction], Reading]
) -> Callable[[str], DetectedLine]:
    """Return a function that reads a line for a checkpoint; call it once for each line, in order.

    A line that is already in the target language is kept, and one without letters has the first
    source. The function raises `LanguageError` for a language that the checkpoint does not
    translate. Raises `UnknownLanguagesError` if the checkpoint translates nothing to the target.
    """
    from app.languages.detector import LanguageDetector  # loads lingua

    languages = Languages(config.directions)
    detector = LanguageDetector(languages.codes)
    first = languages.resolve(languages.first_source(target), target)
    numbers = count(1)

    def read(line: str) -> DetectedLine:
        number = next(numbers)
        candidates = detector.detect(sample(line))
        if not candidates:
            return DetectedLine(line, reading(first))
        language = candidates[0].language
        if fits(target, language):
            nothing = Layout(Untranslatable(), (), ())
            text = DetectedLine(line, reading(first), layout=nothing)
        else:
            try:
                text = DetectedLine(line, reading(languages.resolve(language, target)))
            except UnknownLanguagesError:
                raise LanguageError(
                    f"line {number} seems to be in {language_name(language)} ({language}); "
                    f"'{config.name}' translates {described(config.directions)}"
                ) from None
        text.detected = candidates[0]
        return text

    return read
