"""Streams a translation during the search: final parts are sent, and never withdrawn."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from app.text.spans import Span
from app.translation.answers import Events, SegmentEvent, TokenEvent
from app.translation.segments.segment import Segment
from app.translation.segments.segmented_text import SegmentedText
from model.decoding.hypothesis import Hypothesis, SearchOptions

MAX_SEGMENTS_AT_ONCE = 32
"""Completed segments sent in a row; thousands may wait for the first one of a text."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Receives the events of the text of a request with this index.

    has_segments  whether its segments are those of the text as sent
    """

    index: int
    events: Events
    has_segments: bool

    def token(self, text: str) -> None:
        """Send the next part of the translation."""
        if text:
            self.events.put(TokenEvent(self.index, text))

    def segment(self, source: Span, target: Span, score: float) -> None:
        """Report a completed segment, all of whose translation was sent."""
        if self.has_segments:
            self.events.put(SegmentEvent(self.index, source, target, score))


class LiveText:
    """A text whose translation is streamed in order; its parts are added in order.

    Segments are searched concurrently; each waits until all before it have final renderings. One
    with placeholders, numbers or terms is sent when it is final itself, since its translation may
    be rejected and the segment replaced (`SegmentedText.review`).
    """

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._parts: deque[tuple[int, SegmentedText]] = deque()  # not yet sent, with their offsets
        self._n_sent = 0  # characters of the translation
        # Within the first of these parts:
        self._n_complete = 0  # completely sent segments
        self._source_end = 0  # end of the sent source text, without the segment in progress
        self._is_joined = False  # whether what precedes the segment in progress was sent
        self._n_partial = 0  # characters sent of the segment in progress

    def add(self, start: int, text: SegmentedText) -> None:
        """Append the part of the text from code point `start` on, in any thread; sends nothing."""
        self._parts.append((start, text))

    async def drain(self) -> None:
        """Wait until the client has read most of what was sent."""
        await self._feed.events.drain()

    def send_if_next(self, segment: Segment) -> None:
        """Send what is final if all segments before this one were sent."""
        segments = self._parts[0][1].segments if self._parts else ()
        if self._n_complete < len(segments) and segments[self._n_complete] is segment:
            self.send()

    def send(self) -> bool:
        """Send what is final and was not sent yet; return whether there is more."""
        n_left = MAX_SEGMENTS_AT_ONCE
        while self._parts:
            start, text = self._parts[0]
            while self._n_complete < len(text.segments):
                if not n_left:
                    return True
                if not self._send_segment(start, text):
                    return False
                n_left -= 1
            self._send_text(text.text[self._source_end :])
            self._parts.popleft()
            self._n_complete = self._source_end = 0
        return False

    def _send_segment(self, start: int, text: SegmentedText) -> bool:
        """Send what is final of the next segment; return whether that is all of it."""
        segment = text.segments[self._n_complete]
        if segment.may_be_replaced and not segment.is_accepted:
            return False
        between = Span(self._source_end, segment.span.start)
        before = "" if self._is_joined else text.joined(between)
        self._is_joined = True
        if not segment.is_accepted:
            agreed = _agreed(segment)
            self._send_text(before + agreed[self._n_partial :])
            self._n_partial = max(self._n_partial, len(agreed))
            return False
        rendering = segment.renderings[0].text
        self._send_text(before + rendering[self._n_partial :])
        target = Span(self._n_sent - len(rendering), self._n_sent)
        self._feed.segment(segment.span.shifted(start), target, segment.best.score)
        self._source_end = segment.span.end
        self._is_joined = False
        self._n_partial = 0
        self._n_complete += 1
        return True

    def _send_text(self, text: str) -> None:
        self._n_sent += len(text)
        self._feed.token(text)


def _agreed(segment: Segment) -> str:
    return segment.codec.decode(segment.agreed) if segment.agreed else ""


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A segment in the queue whose text is streamed; see `Searchable`."""

    segment: Segment
    text: LiveText

    @property
    def source_ids(self) -> Sequence[int]:
        return self.segment.source_ids

    @property
    def options(self) -> SearchOptions:
        return self.segment.options

    def agree(self, ids: Sequence[int]) -> None:
        self.segment.agree(ids)
        self.text.send_if_next(self.segment)

    def settle(self, hypotheses: Sequence[Hypothesis]) -> None:
        self.segment.settle(hypotheses)
        self.text.send_if_next(self.segment)
