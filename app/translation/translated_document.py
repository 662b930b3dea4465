"""One text of a request, in any format, with its translation by one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from app.errors import InvalidRequestError
from app.text.document import Answer, Document, PlainText
from app.text.flags import Flag
from app.text.inline_tags import WordLink
from app.text.markup import MarkupDocument, MarkupOptions
from app.text.markup_tokens import MarkupError
from app.translation.segmented_text import Passage
from app.wire.native.translate_request import TranslateRequest

TextFormat: TypeAlias = Literal["text", "html", "xml"]


def open_document(text: str, form: TextFormat, options: MarkupOptions, index: int) -> Document:
    """The text at `index` of a request. Raises `InvalidRequestError` for XML that is none."""
    if form == "text":
        return PlainText(text)
    try:
        return MarkupDocument(text, form, options)
    except MarkupError as error:
        raise InvalidRequestError.at("/text", f"Text {index} is {error}") from None


def open_documents(texts: Sequence[str], request: TranslateRequest) -> list[Document]:
    """Texts in the format of a request. Raises as `open_document`."""
    options = MarkupOptions(
        frozenset(request.ignore_tags),
        frozenset(request.splitting_tags),
        frozenset(request.non_splitting_tags),
        request.outline_detection,
    )
    return [open_document(text, request.format, options, index) for index, text in enumerate(texts)]


def prose(request: TranslateRequest) -> list[str]:
    """Of every text of a request what a reader sees of it. Raises as `open_document`."""
    return [" ".join(document.texts) for document in open_documents(request.text, request)]


@dataclass
class Rendition:
    """A document and the passage of each of its texts through a model.

    links  between the words of text and best answer, for texts by their index
    """

    document: Document
    passages: list[Passage]
    links: dict[int, list[WordLink]] = field(default_factory=dict)

    def text(self, rank: int = 0) -> str:
        """The answer of a rank, 0 being the best."""
        return self.document.with_translations(
            [
                Answer(passage.answer(rank).after, None if rank else self.links.get(index))
                for index, passage in enumerate(self.passages)
            ]
        )

    @property
    def n_answers(self) -> int:
        """How many ranks there are."""
        return max((passage.n_answers for passage in self.passages), default=1)

    def score(self, rank: int = 0) -> float:
        """Mean of the passages' scores, weighted by their target tokens; 0 without any."""
        if len(self.passages) == 1:
            return self.passages[0].score(rank)
        weighted = [passage.score(rank) * len(passage.log_probs) for passage in self.passages]
        return math.fsum(weighted) / max(1, len(self.log_probs))

    @property
    def log_probs(self) -> list[float]:
        """Of all tokens of the best answer."""
        return [one for passage in self.passages for one in passage.log_probs]

    @property
    def n_source_tokens(self) -> int:
        """That were read for the answer, control symbols counted."""
        return sum(passage.n_source_tokens for passage in self.passages)

    @property
    def flags(self) -> set[Flag]:
        """Those of any passage."""
        return {flag for passage in self.passages for flag in passage.flags}
