"""One text of a request, in any format, with its translation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from app.concurrency.abandonment import check_wanted
from app.errors import InvalidRequestError, UnreadableFileError
from app.languages.detection import Detected
from app.text.document import MAX_DOCUMENTS, Document, PlainText
from app.text.markup import MarkupDocument, MarkupOptions
from app.text.markup_tokens import MarkupError
from app.translation.language_paths import FoundPath
from app.translation.partial_results import Feed
from app.translation.translated_text import TranslatedText, mean_score
from app.translation.windows import Block
from app.wire.native import answers
from app.wire.native.translate_request import TranslateRequest


def open_documents(request: TranslateRequest) -> list[Document]:
    """Parse the texts in the request's format.

    Raises `InvalidRequestError` for malformed XML, and for markup of too many parts.
    """
    if request.format == "text":
        return [PlainText(text) for text in request.text]
    options = MarkupOptions(
        frozenset(request.ignore_tags),
        frozenset(request.splitting_tags),
        frozenset(request.non_splitting_tags),
        request.outline_detection,
    )
    documents: list[Document] = []
    n_texts = 0
    for index, text in enumerate(request.text):
        check_wanted()
        try:
            documents.append(MarkupDocument(text, request.format, options))
        except MarkupError as error:
            raise InvalidRequestError.at("/text", f"Text {index} is {error}") from None
        except UnreadableFileError as error:
            raise InvalidRequestError.at("/text", f"Text {index}: {error}") from None
        n_texts += len(documents[-1].texts)
        if n_texts > MAX_DOCUMENTS:
            detail = f"A request may have {MAX_DOCUMENTS:,} paragraphs, cells and lines of markup"
            raise InvalidRequestError.at("/text", detail)
    return documents


@dataclass(eq=False, slots=True)
class TranslatedDocument:
    """A text of a request in progress.

    source     the text as sent
    blocks     its parts to translate, which the document reassembles
    feed       receives its translation as a stream
    explained  its explained segments, if requested
    answer     the final translation
    """

    source: str
    document: Document
    found: FoundPath
    feed: Feed | None = None
    blocks: list[Block] = field(init=False)
    explained: list[answers.Segment] | None = None
    answer: answers.Translation = field(init=False)

    def __post_init__(self) -> None:
        tagged = zip(self.document.texts, self.document.tagged, strict=True)
        feed = self.feed if self._is_live else None
        self.blocks = [Block(text, is_tagged, feed) for text, is_tagged in tagged]

    @property
    def _is_live(self) -> bool:
        """Whether it is streamed: not markup, where the places of tags are known last."""
        return bool(self.found.path.models) and isinstance(self.document, PlainText)

    def passes(self) -> Iterator[TranslatedText]:
        """Yield its texts as translated by each model."""
        return (text for block in self.blocks for text in block.passes)

    def explain(self) -> None:
        """Take the explained segments of its text."""
        self.explained = [one for text in self.passes() for one in text.explained or ()]

    def put_together(self, n_alternatives: int) -> None:
        """Assemble the translation; scores of several models are added, as log-probabilities."""
        *before, last = list(zip(*[block.passes for block in self.blocks], strict=True)) or [()]
        read = list(self.passes())
        log_prob = math.fsum([text.log_prob for text in read])
        n_tokens = sum([text.n_target_tokens for text in read])
        score_before = math.fsum(mean_score(texts, 0) for texts in before)
        source, *between = self.found.path.languages
        *pivot, target = between or [source]
        n_answers = max((len(text.answers) for text in last), default=1)
        self.answer = answers.Translation(
            text=self._whole(0),
            source=source,
            detected=_shown(self.found.detected),
            target=target,
            pivot=pivot[0] if pivot else None,
            score=score_before + mean_score(last, 0),
            confidence=math.exp(log_prob / n_tokens) if n_tokens else 1.0,
            flags=sorted({flag for text in read for flag in text.flags}),
            alternatives=[
                answers.Alternative(
                    text=self._whole(rank), score=score_before + mean_score(last, rank)
                )
                for rank in range(1, min(1 + n_alternatives, n_answers))
            ],
            segments=self.explained,
        )

    def tell_rest(self) -> None:
        """Send the whole translation, if it was not streamed."""
        if self.feed and not self._is_live:
            self.feed.token(self.answer.text)

    def _whole(self, rank: int) -> str:
        if not self.found.path.models:
            return self.source
        return self.document.with_translations([block.answer(rank) for block in self.blocks])


def answer_of(documents: Sequence[TranslatedDocument]) -> answers.TranslateAnswer:
    """Return the response of their request."""
    read = [text for document in documents for text in document.passes()]
    return answers.TranslateAnswer(
        model=", ".join(dict.fromkeys(document.found.path.name for document in documents)),
        translations=[document.answer for document in documents],
        usage=answers.Usage(
            characters=sum(len(document.source) for document in documents),
            source_tokens=sum(text.n_source_tokens for text in read),
            target_tokens=sum(text.n_target_tokens for text in read),
        ),
    )


def put_together(documents: Sequence[TranslatedDocument], n_alternatives: int) -> None:
    """Assemble the translation of each."""
    for document in documents:
        check_wanted()
        document.put_together(n_alternatives)


def _shown(found: Detected | None) -> answers.DetectedLanguage | None:
    if found is None:
        return None
    return answers.DetectedLanguage(language=found.language, confidence=found.confidence)
