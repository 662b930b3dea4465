"""The texts of a request: opened, translated along their language paths, reassembled."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.concurrency.coroutines import side_by_side
from app.concurrency.threads import check_abandoned
from app.errors import InvalidRequestError, UnreadableFileError
from app.languages.served import fits
from app.text.document import MAX_DOCUMENTS, Document, PlainText
from app.text.markup.document import MarkupDocument
from app.text.markup.escaped_tags import has_inline_tags
from app.text.markup.tokens import Format, MarkupError
from app.translation.answers import Alternative, Events, TranslateAnswer, Translation, Usage
from app.translation.attention_view import AttentionView
from app.translation.block import Block, mean_score
from app.translation.explainer import ExplanationOptions
from app.translation.language_paths import FoundPath, LanguagePath, LanguagePaths
from app.translation.partial_results import Feed
from app.translation.pipeline import RequestContext, off_the_loop, translate_blocks
from app.translation.requests import TranslationRequest


@dataclass(eq=False, slots=True)
class TranslatedText:
    """A text of a request in progress.

    source    the text as sent
    blocks    its texts to translate; later, as the last model translated them
    feed      receives the translation as a stream
    """

    source: str
    document: Document
    found: FoundPath
    feed: Feed | None = None
    blocks: Sequence[Block] = field(init=False)
    translation: Translation = field(init=False)

    def __post_init__(self) -> None:
        feed = self.feed if self._is_live else None
        self.blocks = [
            Block(text, is_tagged, feed)
            for text, is_tagged in zip(self.document.texts, self.document.tagged, strict=True)
        ]

    @property
    def _is_live(self) -> bool:
        """Whether it is streamed: not markup, whose tags are placed last."""
        return bool(self.found.path.models) and isinstance(self.document, PlainText)

    @property
    def passes(self) -> list[Block]:
        """Its blocks as each model translated them."""
        return [one for block in self.blocks for one in block.passes]

    def finish(self, request: TranslationRequest) -> None:
        """Assemble the translation; scores of several models are added, as log-probabilities."""
        *before, last = list(zip(*[block.passes for block in self.blocks], strict=True)) or [()]
        passes = self.passes
        log_prob = math.fsum([one.log_prob for one in passes])
        n_tokens = sum([one.n_target_tokens for one in passes])
        score_before = math.fsum(mean_score(blocks, 0) for blocks in before)
        source, *between = self.found.path.languages
        *pivot, target = between or [source]
        n_answers = max((len(block.answers) for block in last), default=1)
        detected = self.found.detected
        flags = {flag for one in passes for flag in one.flags}
        if detected and not fits(detected.language, source):
            flags.add("other_language")
        explained = [one for block in passes for one in block.explained or ()]
        self.translation = Translation(
            text=self._whole(0),
            source=source,
            detected=detected,
            target=target,
            pivot=pivot[0] if pivot else None,
            score=score_before + mean_score(last, 0),
            confidence=math.exp(log_prob / n_tokens) if n_tokens else 1.0,
            flags=sorted(flags),
            alternatives=[
                Alternative(text=self._whole(rank), score=score_before + mean_score(last, rank))
                for rank in range(1, min(1 + request.search.alternatives, n_answers))
            ],
            segments=explained if request.is_explained else None,
        )

    def send_unstreamed(self) -> None:
        """Send the whole translation, if it was not streamed."""
        if self.feed and not self._is_live:
            self.feed.token(self.translation.text)

    def _whole(self, rank: int) -> str:
        if not self.found.path.models:
            return self.source
        return self.document.with_translations([block.answer(rank) for block in self.blocks])


async def translate_texts(
    request: TranslationRequest,
    paths: LanguagePaths,
    context: RequestContext,
    events: Events | None,
) -> TranslateAnswer:
    """Translate the texts of each language path, the paths concurrently.

    Raises as `open_texts` and `translate_blocks`.
    """
    with context.timings.measure("tokenize"):
        texts = await open_texts(request, paths, events)
    by_path: dict[LanguagePath, list[TranslatedText]] = {}
    for text in texts:
        by_path.setdefault(text.found.path, []).append(text)
    for path in by_path:
        _check_explicable(request, path)
    contexts = [context.fork() for _ in by_path]
    try:
        await side_by_side(
            _translate_along(path, alike, request, own)
            for (path, alike), own in zip(by_path.items(), contexts, strict=True)
        )
    except BaseException:  # whose traceback keeps these lists
        texts.clear()
        raise
    context.timings.add_longest([own.timings for own in contexts])
    return await off_the_loop(partial(_answer, texts), sum(map(len, request.texts)))


async def open_texts(
    request: TranslationRequest, paths: LanguagePaths, events: Events | None = None
) -> list[TranslatedText]:
    """Find the languages and models of each text, and lift its markup.

    The target that a plain text names at its start is its own, and not translated.

    Raises `InvalidRequestError` for malformed XML and for markup of too many parts, and as
    `LanguagePaths.named` and `found`.
    """
    typed = [request.format == "text" and paths.typed_target(text) for text in request.texts]
    if not any(typed):
        return await _open_alike(request, paths, events)
    texts: list[TranslatedText] = []
    for index, (text, one) in enumerate(zip(request.texts, typed, strict=True)):
        target, rest = one or (request.target, text)
        own = replace(request, texts=[rest], target=target)
        texts += await _open_alike(own, paths, events, first=index)
    return texts


async def _open_alike(
    request: TranslationRequest, paths: LanguagePaths, events: Events | None, first: int = 0
) -> list[TranslatedText]:
    """Open texts, of which none names its target; `first` is the index of the first."""
    path = paths.named(request.source, request.target)
    documents = await off_the_loop(partial(open_documents, request), sum(map(len, request.texts)))
    found = (
        [FoundPath(path)] * len(documents)
        if path
        else await paths.found(
            [" ".join(one.texts) for one in documents], request.source, request.target
        )
    )
    return [
        TranslatedText(
            text, document, one, Feed(index, events, one.path.is_direct) if events else None
        )
        for index, (text, document, one) in enumerate(
            zip(request.texts, documents, found, strict=True), first
        )
    ]


def open_documents(request: TranslationRequest) -> list[Document]:
    """Parse the texts in the request's format. Raises `InvalidRequestError`.

    Tags around words of plain text move with the words, as in HTML.
    """
    documents: list[Document] = []
    n_texts = 0
    for index, text in enumerate(request.texts):
        check_abandoned()
        if request.format == "text" and (request.is_explained or not has_inline_tags(text)):
            documents.append(PlainText(text))
            continue
        written: Format = "html" if request.format == "text" else request.format
        try:
            documents.append(MarkupDocument(text, written, request.markup))
        except MarkupError as error:
            raise InvalidRequestError.at("/text", f"Text {index} is {error}") from None
        except UnreadableFileError as error:
            raise InvalidRequestError.at("/text", f"Text {index}: {error}") from None
        n_texts += len(documents[-1].texts)
        if n_texts > MAX_DOCUMENTS:
            detail = f"A request may have {MAX_DOCUMENTS:,} paragraphs, cells and lines of markup"
            raise InvalidRequestError.at("/text", detail)
    return documents


def _check_explicable(request: TranslationRequest, path: LanguagePath) -> None:
    if not request.is_explained:
        return
    name = "attention" if request.attention else "alignment"
    if request.format != "text":
        detail = f"{name.capitalize()} is available for plain text only"
        raise InvalidRequestError.at(f"/{name}", detail)
    if path.models and not path.is_direct:
        detail = f"No model attends from one to the other; request {path.pairs} separately"
        raise InvalidRequestError.at(f"/{name}", detail)


async def _translate_along(
    path: LanguagePath,
    texts: list[TranslatedText],
    request: TranslationRequest,
    context: RequestContext,
) -> None:
    """Translate the texts of a request that use the same models."""
    steps = await off_the_loop(lambda: path.steps(request.options()), request.n_term_characters)
    explanations = None
    if request.is_explained:
        view = None
        if steps and request.attention:
            view = AttentionView(request.attention, steps[-1].model.transformer_config)
        explanations = ExplanationOptions(view, request.alignment)
    blocks = [block for text in texts for block in text.blocks]
    try:
        translated = iter(await translate_blocks(blocks, steps, context, explanations))
    except BaseException:  # whose traceback keeps these lists
        blocks.clear()
        texts.clear()
        raise

    def finish() -> None:
        for text in texts:
            check_abandoned()
            text.blocks = [next(translated) for _ in text.blocks]
            text.finish(request)

    with context.timings.measure("detokenize"):
        await off_the_loop(finish, sum(len(text.source) for text in texts))
    for text in texts:
        text.send_unstreamed()


def _answer(texts: Sequence[TranslatedText]) -> TranslateAnswer:
    passes = [one for text in texts for one in text.passes]
    return TranslateAnswer(
        model=", ".join(dict.fromkeys(text.found.path.name for text in texts)),
        translations=[text.translation for text in texts],
        usage=Usage(
            characters=sum(len(text.source) for text in texts),
            source_tokens=sum(one.n_source_tokens for one in passes),
            target_tokens=sum(one.n_target_tokens for one in passes),
        ),
    )
