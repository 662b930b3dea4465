"""What is kept of a text once a model has translated it, and the assembly of its parts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

from app.text.flags import Flag
from app.text.spans import Span
from app.text.word_links import WordLinks
from app.translation.segments.segmented_text import SegmentedText, is_mostly_foreign
from app.wire.native.answers import Segment


@dataclass(eq=False, slots=True)
class TranslatedText:
    """A text as translated by one model, or a part of one. It has no segments any more.

    source           number of code points of the text
    answers          the translations, best first
    scores           of each, as the search ranks
    n_source_tokens  including control symbols
    n_target_tokens  of the best translation
    log_prob         of the best translation: the sum of its tokens'
    flags            of the best translation
    words            number of words, and of those that the model could read; None: not counted
    links            between words of the text and the best translation, if requested
    explained        its segments, if requested
    """

    source: int
    answers: Sequence[str]
    scores: Sequence[float]
    n_source_tokens: int
    n_target_tokens: int
    log_prob: float
    flags: Sequence[Flag]
    words: tuple[int, int] | None = None
    links: WordLinks | None = None
    explained: list[Segment] | None = None

    @classmethod
    def of(cls, text: SegmentedText, n_ranks: int, *, is_part: bool = False) -> TranslatedText:
        """Return what is kept of a text whose segments are answered: at most `n_ranks` answers.

        `is_part` if the flags of the text as a whole are to be found by `joined`.
        """
        ranks = range(min(n_ranks, text.n_answers))
        log_probs = text.log_probs
        return cls(
            len(text.text),
            [text.answer(rank).after for rank in ranks],
            [text.score(rank) for rank in ranks],
            text.n_source_tokens,
            len(log_probs),
            math.fsum(log_probs),
            sorted(text.flags_of_segments) if is_part else text.flags,
            text.word_counts if is_part else None,
        )

    @classmethod
    def joined(cls, parts: Sequence[TranslatedText]) -> TranslatedText:
        """Return the text whose parts these are, in order."""
        if len(parts) == 1:
            return parts[0]
        ranks = range(max(len(one.answers) for one in parts))
        flags: set[Flag] = {flag for one in parts for flag in one.flags}
        counts = [one.words for one in parts if one.words]
        words = sum(n for n, _ in counts), sum(n for _, n in counts)
        if is_mostly_foreign(*words):
            flags.add("copied_source")
        return cls(
            sum(one.source for one in parts),
            ["".join(one.answer(rank) for one in parts) for rank in ranks],
            [mean_score(parts, rank) for rank in ranks],
            sum(one.n_source_tokens for one in parts),
            sum(one.n_target_tokens for one in parts),
            math.fsum(one.log_prob for one in parts),
            sorted(flags),
            words,
            _links(parts) if any(one.links is not None for one in parts) else None,
            _explained(parts) if any(one.explained is not None for one in parts) else None,
        )

    def answer(self, rank: int = 0) -> str:
        """Return the translation of a rank, or the last if there are fewer."""
        return self.answers[min(rank, len(self.answers) - 1)]

    def score(self, rank: int = 0) -> float:
        """Return the score of a rank, or of the last."""
        return self.scores[min(rank, len(self.scores) - 1)]


def mean_score(texts: Sequence[TranslatedText], rank: int) -> float:
    """Mean score, weighted by the tokens of the best translations; 0 if there are none."""
    if len(texts) == 1:
        return texts[0].score(rank)
    weights = [one.n_target_tokens for one in texts]
    scores = [one.score(rank) for one in texts]
    return math.fsum(map(mul, weights, scores)) / max(1, sum(weights))


def _starts(parts: Sequence[TranslatedText]) -> Iterator[tuple[TranslatedText, int, int]]:
    """Yield each part with its start in the text and in the translation."""
    source = target = 0
    for part in parts:
        yield part, source, target
        source += part.source
        target += len(part.answers[0])


def _links(parts: Sequence[TranslatedText]) -> WordLinks:
    return WordLinks(
        link.shifted(source, target)
        for part, source, target in _starts(parts)
        for link in part.links or ()
    )


def _explained(parts: Sequence[TranslatedText]) -> list[Segment]:
    found: list[Segment] = []
    for part, source, target in _starts(parts):
        for segment in part.explained or ():
            _shift(segment, source, target)
            found.append(segment)
    return found


def _shift(segment: Segment, source: int, target: int) -> None:
    """Move what was explained of a part to where the part is."""
    segment.source = Span(*segment.source).shifted(source)
    segment.target = Span(*segment.target).shifted(target)
    for tokens, by in ((segment.source_tokens, source), (segment.target_tokens, target)):
        for token in tokens:
            token.start += by
            token.end += by
    if segment.source_words is not None and segment.target_words is not None:
        segment.source_words = [Span(*word).shifted(source) for word in segment.source_words]
        segment.target_words = [Span(*word).shifted(target) for word in segment.target_words]
