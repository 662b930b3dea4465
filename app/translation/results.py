"""The native dialect's answers, made of the translated texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.text.language_detection import Detected
from app.translation.translated_document import Rendition
from app.wire.native.answers import Alternative, DetectedLanguage, Segment, Translation
from app.wire.native.translate_request import TranslateRequest


def translations_of(
    request: TranslateRequest,
    languages: tuple[str, ...],
    passed: Sequence[Sequence[Rendition]],
    segments: Sequence[list[Segment] | None],
) -> list[Translation]:
    """Those of texts that went through the same languages.

    passed    of every step, the rendition of each text
    segments  of each text
    """
    return [
        _translation(languages, renditions, request.alternatives, shown)
        for renditions, shown in zip(zip(*passed, strict=True), segments, strict=True)
    ]


def _translation(
    languages: tuple[str, ...],
    renditions: Sequence[Rendition],
    n_alternatives: int,
    segments: list[Segment] | None,
) -> Translation:
    """One text's, from its rendition by each model; scores add up, as log-probabilities do."""
    last = renditions[-1]
    log_probs = [log_prob for one in renditions for log_prob in one.log_probs]
    before = math.fsum(rendition.score() for rendition in renditions[:-1])
    source, *pivot, target = languages
    return Translation(
        text=last.text(),
        source=source,
        target=target,
        pivot=pivot[0] if pivot else None,
        score=before + last.score(),
        confidence=math.exp(math.fsum(log_probs) / len(log_probs)) if log_probs else 1.0,
        flags=sorted({flag for rendition in renditions for flag in rendition.flags}),
        alternatives=[
            Alternative(text=last.text(rank), score=before + last.score(rank))
            for rank in range(1, min(1 + n_alternatives, last.n_answers))
        ],
        segments=segments,
    )


def already_translated(request: TranslateRequest, language: str) -> list[Translation]:
    """Those of texts that are in their target language: the texts."""
    is_explained = request.attention or request.alignment
    return [
        Translation(
            text=text,
            source=language,
            target=language,
            score=0.0,
            confidence=1.0,
            flags=[],
            alternatives=[],
            segments=[] if is_explained else None,
        )
        for text in request.text
    ]


def with_detected(translation: Translation, found: Detected | None) -> Translation:
    """The same, saying what its source was found to be."""
    if found is None:
        return translation
    detected = DetectedLanguage(language=found.language, confidence=found.confidence)
    return translation.model_copy(update={"detected": detected})
