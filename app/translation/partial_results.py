"""A translation while it is produced: what is certain is sent, and never taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.scheduling.queue_items import Completion
from app.text.spans import Span
from app.translation.segmented_text import Passage, Stretch
from app.wire.native.answers import PutEvent, SegmentEvent, TokenEvent
from model.decoding.hypothesis import Hypothesis
from model.text.text_codec import TextCodec

UNFINISHED = "\ufffd"
"""What a codec reads where the bytes of a character are not all there yet."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Where to tell of one text of a request; `index` is its place there.

    has_segments  whether its sentences are those of the text as it was sent
    """

    index: int
    put: PutEvent
    has_segments: bool

    def token(self, text: str) -> None:
        """More of the translation, which goes on where the last one ended."""
        if text:
            self.put(TokenEvent(index=self.index, text=text))

    def segment(self, source: Span, target: Span, score: float) -> None:
        """A sentence is settled, and all of its translation told."""
        if self.has_segments:
            self.put(
                SegmentEvent(
                    index=self.index,
                    source=(source.start, source.end),
                    target=(target.start, target.end),
                    score=score,
                )
            )


def tell_whole(texts: Sequence[str], feeds: Sequence[Feed]) -> None:
    """Translations of which nothing was told before; all have a feed, or none."""
    for text, feed in zip(texts, feeds, strict=False):
        feed.token(text)


class LiveText:
    """A passage whose translation is told in its order, from the front on.

    Its stretches are searched side by side: what is known of a later one waits until all before
    it are settled. So does what is agreed on of one with placeholders, since its answer may yet be
    refused, and the stretch replaced by others (`Passage.settle`).
    """

    def __init__(self, passage: Passage, codec: TextCodec, feed: Feed) -> None:
        self._passage = passage
        self._codec = codec
        self._feed = feed
        self._agreed: dict[Stretch, str] = {}
        self._n_settled = 0  # stretches that are told to their ends
        self._source_end = 0  # up to where the text, the stretch that is begun excepted, is told
        self._n_told = 0  # of the translation
        self._n_begun = 0  # of these, in the stretch that is begun

    def begin(self) -> None:
        """Tell what stands before the first stretch."""
        self._tell_news()

    def agree(self, stretch: Stretch, ids: Sequence[int]) -> None:
        """The best hypothesis of a stretch will begin with these ids."""
        if not stretch.holds_placeholders:
            self._agreed[stretch] = self._codec.decode(ids).rstrip(UNFINISHED)
            self._tell_news()

    def settle(self, stretch: Stretch, hypotheses: Sequence[Hypothesis]) -> None:
        """`Passage.settle`, and tell."""
        self._passage.settle(stretch, hypotheses)
        self._agreed.pop(stretch, None)
        self._tell_news()

    def _tell_news(self) -> None:
        text, stretches = self._passage.text, self._passage.stretches
        while self._n_settled < len(stretches):
            stretch = stretches[self._n_settled]
            before = text[self._source_end : stretch.span.start]
            self._source_end = stretch.span.start
            if not stretch.renderings:
                agreed = self._agreed.get(stretch, "")
                self._tell(before + agreed[self._n_begun :])
                self._n_begun = max(self._n_begun, len(agreed))
                return
            rendering = stretch.renderings[0].text
            self._tell(before + rendering[self._n_begun :])
            target = Span(self._n_told - len(rendering), self._n_told)
            self._feed.segment(stretch.span, target, stretch.best.score)
            self._source_end = stretch.span.end
            self._n_begun = 0
            self._n_settled += 1
        self._tell(text[self._source_end :])
        self._source_end = len(text)

    def _tell(self, news: str) -> None:
        self._n_told += len(news)
        self._feed.token(news)


@dataclass(frozen=True, slots=True)
class LiveStretches:
    """Stretches on their way through the queue, for the scheduler to tell of."""

    stretches: Sequence[tuple[LiveText, Stretch]]

    def agreed(self, index: int, ids: Sequence[int]) -> None:
        """See `app.scheduling.queue_items.Listener`."""
        live, stretch = self.stretches[index]
        live.agree(stretch, ids)

    def completed(self, index: int, completion: Completion) -> None:
        """See `app.scheduling.queue_items.Listener`."""
        live, stretch = self.stretches[index]
        live.settle(stretch, completion.hypotheses)
