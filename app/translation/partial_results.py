"""A translation while it is produced: what is certain is sent, and never taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.text.spans import Span
from app.translation.segment import Segment
from app.translation.segmented_text import SegmentedText
from app.wire.native.answers import PutEvent, SegmentEvent, TokenEvent
from model.decoding.hypothesis import Hypothesis, SearchOptions

UNFINISHED = "\ufffd"
"""What a codec reads where the bytes of a character are not all there yet."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Where to tell of one text of a request; `index` is its place there.

    has_segments  whether its segments are those of the text as it was sent
    """

    index: int
    put: PutEvent
    has_segments: bool

    def token(self, text: str) -> None:
        """More of the translation, which goes on where the last one ended."""
        if text:
            self.put(TokenEvent(index=self.index, text=text))

    def segment(self, source: Span, target: Span, score: float) -> None:
        """A segment is settled, and all of its translation told."""
        if self.has_segments:
            self.put(
                SegmentEvent(
                    index=self.index,
                    source=(source.start, source.end),
                    target=(target.start, target.end),
                    score=score,
                )
            )


class LiveText:
    """A text whose translation is told in its order, from the front on.

    Its segments are searched side by side: what is known of a later one waits until all before it
    have their renderings. So does what is agreed on of one with placeholders, since its answer may
    yet be refused, and the segment replaced by others (`SegmentedText.pending`).
    """

    def __init__(self, text: SegmentedText, feed: Feed) -> None:
        self._text = text
        self._feed = feed
        self._n_settled = 0  # segments that are told to their ends
        self._source_end = 0  # up to where the text, the segment that is begun excepted, is told
        self._n_told = 0  # of the translation
        self._n_begun = 0  # of these, in the segment that is begun
        self.tell_news()

    def pending(self) -> list[LiveSegment]:
        """The text's pending segments, to be told of."""
        return [LiveSegment(segment, self) for segment in self._text.pending()]

    def tell_news(self) -> None:
        """Tell what is certain and was not told yet."""
        text, segments = self._text.text, self._text.segments
        while self._n_settled < len(segments):
            segment = segments[self._n_settled]
            before = text[self._source_end : segment.span.start]
            self._source_end = segment.span.start
            if not segment.renderings:
                agreed = "" if segment.holds_placeholders else _agreed(segment)
                self._tell(before + agreed[self._n_begun :])
                self._n_begun = max(self._n_begun, len(agreed))
                return
            rendering = segment.renderings[0].text
            self._tell(before + rendering[self._n_begun :])
            target = Span(self._n_told - len(rendering), self._n_told)
            self._feed.segment(segment.span, target, segment.best.score)
            self._source_end = segment.span.end
            self._n_begun = 0
            self._n_settled += 1
        self._tell(text[self._source_end :])
        self._source_end = len(text)

    def _tell(self, news: str) -> None:
        self._n_told += len(news)
        self._feed.token(news)


def _agreed(segment: Segment) -> str:
    return segment.codec.decode(segment.agreed).rstrip(UNFINISHED) if segment.agreed else ""


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A segment in the queue whose text is told as it comes; see `Searchable`."""

    segment: Segment
    text: LiveText

    @property
    def source_ids(self) -> Sequence[int]:
        """The segment's."""
        return self.segment.source_ids

    @property
    def options(self) -> SearchOptions:
        """The segment's."""
        return self.segment.options

    def agree(self, ids: Sequence[int]) -> None:
        """`Segment.agree`, and tell."""
        self.segment.agree(ids)
        self.text.tell_news()

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        """`Segment.settle`, and tell."""
        self.segment.settle(hypotheses)
        self.text.tell_news()
