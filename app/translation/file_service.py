"""Translates files: opens them, translates their texts, and reassembles them."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import TypeAlias

from app.concurrency.threads import in_thread
from app.documents.files import FileDocument, FileFormat, file_format, result_suffix
from app.errors import TextTooLongError
from app.observe.timings import Timings
from app.scheduling.admission import Admission, CapacityLimiter
from app.text.flags import Flag
from app.text.glossary import NO_GLOSSARY, Glossary
from app.text.placeholders import ATOM
from app.translation.block import Block
from app.translation.language_paths import LanguagePath, LanguagePaths
from app.translation.pipeline import RequestContext, translate_blocks
from app.translation.requests import TranslationOptions

MAX_FILES = 4
"""Files translated at a time; they share the capacity of files anyway."""

SAMPLE_CHARACTERS = 2000
"""Characters examined to detect the language of a file."""

Progress: TypeAlias = Callable[[int, int], None]
"""Receives the number of translated characters and their total."""


@dataclass(frozen=True)
class FileLimits:
    """Limits of files; `timeout` in seconds."""

    max_characters: int
    timeout: float


@dataclass(frozen=True)
class FileRequest:
    """A file to translate, whose name determines its format. The model sets omitted options."""

    name: str
    data: bytes
    source: str | None = None
    target: str | None = None
    beam_size: int | None = None
    length_penalty: float | None = None
    glossary: Mapping[str, str] = field(default_factory=dict)

    def options(self) -> TranslationOptions:
        """Return how to translate the texts, with their glossary, which may take seconds."""
        return TranslationOptions(
            self.beam_size,
            self.length_penalty,
            split="nonewlines",
            glossary=Glossary(self.glossary) if self.glossary else NO_GLOSSARY,
        )


@dataclass(frozen=True)
class OpenedFile:
    """A parsed file with its texts to translate, whether each has tags, and the models."""

    request: FileRequest
    path: LanguagePath
    document: FileDocument
    media_type: str
    texts: list[str]
    tagged: list[bool]
    characters: int


@dataclass(frozen=True)
class TranslatedFile:
    """A file's translation and its language; `flags` counts texts by flag."""

    data: bytes
    target: str
    media_type: str
    flags: dict[Flag, int]


class FileService:
    """Translates files with the models of their languages."""

    def __init__(
        self,
        paths: LanguagePaths,
        limits: FileLimits,
        limiter: CapacityLimiter,
        forecast: Callable[[], float],
    ) -> None:
        self._paths = paths
        self._limits = limits
        self._limiter = limiter
        self._checking_limiter = CapacityLimiter(limiter.capacity)
        self._admission = Admission(MAX_FILES, forecast)
        self._uploads = Admission(MAX_FILES, forecast)

    def slot(self) -> AbstractAsyncContextManager[float]:
        """Reserve a file's slot before reading it. Yields and raises as `Admission.slot`."""
        return self._admission.slot(self._limits.timeout)

    def slot_in_turn(self) -> AbstractAsyncContextManager[float]:
        """Reserve a slot as `slot` does, but behind the files that already wait."""
        return self._admission.slot_in_turn(self._limits.timeout)

    def upload_slot(self) -> AbstractAsyncContextManager[float]:
        """Reserve a slot to receive and check a file that is translated later. As `slot`."""
        return self._uploads.slot(self._limits.timeout)

    async def checked(self, request: FileRequest) -> int:
        """Parse a file, without waiting for others; return its characters to translate.

        Raises as `opened`.
        """
        found = file_format(request.name)
        async with self._checking_limiter.reserve(
            await in_thread(partial(found.size, request.data))
        ):
            return (await self._open(request, found)).characters

    @asynccontextmanager
    async def opened(
        self, request: FileRequest, client: Hashable = None
    ) -> AsyncIterator[OpenedFile]:
        """Wait for capacity for a file, in turn with other clients' files; parse it.

        Raises `UnreadableFileError`, `TextTooLongError`, and as `LanguagePaths.named` and `found`.
        """
        found = file_format(request.name)
        async with self._limiter.reserve(
            await in_thread(partial(found.size, request.data)), client
        ):
            yield await self._open(request, found)

    async def _open(self, request: FileRequest, found: FileFormat) -> OpenedFile:
        document = await in_thread(partial(found.open, request.data))
        texts = document.texts
        n_characters = sum(map(len, texts))
        if n_characters > self._limits.max_characters:
            raise TextTooLongError(
                f"a file may have at most {self._limits.max_characters:,} characters to translate"
            )
        path = self._paths.named(request.source, request.target)
        if path is None:
            [detected] = await self._paths.found([_sample(texts)], request.source, request.target)
            path = detected.path
        return OpenedFile(
            request, path, document, found.media_type, texts, document.tagged, n_characters
        )

    async def translate_file(
        self,
        opened: OpenedFile,
        deadline: float,
        progress: Progress = lambda *_: None,
        client: Hashable = None,
    ) -> TranslatedFile:
        """Translate a file, equal texts once; `client` is for fair queueing.

        Raises as `TranslationService.translate`.
        """
        steps = await in_thread(lambda: opened.path.steps(opened.request.options()))
        texts = list(zip(opened.texts, opened.tagged, strict=True))
        distinct = dict.fromkeys(texts)
        n_characters = sum(len(text) for text, _ in distinct)
        blocks = await translate_blocks(
            [Block(text, is_tagged) for text, is_tagged in distinct],
            steps,
            RequestContext(client, deadline, Timings(), may_be_refused=False),
            progress=lambda share: progress(round(share * n_characters), n_characters),
        )
        answers = {text: block.answer() for text, block in zip(distinct, blocks, strict=True)}
        flags = Counter(flag for block in blocks for one in block.passes for flag in one.flags)
        data = await in_thread(
            partial(opened.document.with_translations, [answers[text] for text in texts])
        )
        return TranslatedFile(data, opened.path.languages[-1], opened.media_type, dict(flags))


def _sample(texts: Sequence[str]) -> str:
    """Return enough text without markup to detect the language."""
    sample = ""
    for text in texts:
        if len(sample) >= SAMPLE_CHARACTERS:
            break
        sample += ATOM.sub(" ", text) + "\n"
    return sample


def translated_name(name: str, target: str) -> str:
    """Return the name of a translation: `report.docx` → `report.fr.docx`."""
    return f"{PurePath(name).stem}.{target}{result_suffix(name)}"
