"""Translates files: opens them, translates their texts in chunks, and reassembles them.

A few chunks are translated at a time, each queued as a list of texts in the bulk lane, so that
other requests are served meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import PurePath
from typing import TypeAlias

from app.concurrency.abandonment import in_thread
from app.concurrency.side_by_side import side_by_side
from app.documents.files import FileDocument, FileFormat, file_format
from app.errors import TextTooLongError
from app.observe.timings import Timings
from app.scheduling.admission import Admission
from app.scheduling.capacity_limiter import CapacityLimiter
from app.text.document import Answer
from app.text.flags import Flag
from app.text.glossary import NO_GLOSSARY, Glossary
from app.text.placeholders import ATOM
from app.translation.language_paths import LanguagePath, LanguagePaths, PlannedStep
from app.translation.pipeline import Turn, translate_blocks
from app.translation.served_model import Wanted
from app.translation.windows import Block

CHUNK_TEXTS = 64
CHUNK_CHARACTERS = 8000
CHUNKS_AT_A_TIME = 2
"""Concurrent chunks: while one finishes, the next keeps the engines busy."""

SAMPLE_CHARACTERS = 2000
"""Characters examined to detect the language of a file."""

Progress: TypeAlias = Callable[[int, int], None]
"""Receives the number of translated characters and their total."""


@dataclass(frozen=True)
class FileLimits:
    """Limits of files; `timeout` in seconds."""

    max_files: int
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


@dataclass
class _Work:
    """The distinct texts of a file and their translations."""

    steps: list[PlannedStep]
    turn: Turn
    progress: Progress
    total: int
    done: int = 0
    answers: dict[tuple[str, bool], Answer] = field(default_factory=dict)
    flags: Counter[Flag] = field(default_factory=Counter)


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
        self._admission = Admission(limits.max_files, forecast)
        self._uploads = Admission(limits.max_files, forecast)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[float]:
        """Reserve a file's place before reading it. Yields and raises as `Admission.place`."""
        async with self._admission.slot(self._limits.timeout) as deadline:
            yield deadline

    @asynccontextmanager
    async def slot_in_turn(self) -> AsyncIterator[float]:
        """As `place`, but waits for a place behind the files that wait already."""
        async with self._admission.slot_in_turn(self._limits.timeout) as deadline:
            yield deadline

    @asynccontextmanager
    async def upload_slot(self) -> AsyncIterator[None]:
        """Reserve a place to receive and check a file that is translated later. As `place`."""
        async with self._uploads.slot(self._limits.timeout):
            yield

    async def checked(self, request: FileRequest) -> int:
        """Parse a file, and return its characters to translate. Raises as `opened`.

        It does not wait for files that are being translated.
        """
        found = file_format(request.name)
        async with self._checking_limiter.reserve(await _size(request, found)):
            return (await self._open(request, found)).characters

    @asynccontextmanager
    async def opened(
        self, request: FileRequest, client: Hashable = None
    ) -> AsyncIterator[OpenedFile]:
        """Wait for capacity for a file, in turn with other clients' files; parse it.

        Raises `UnreadableFileError`, `TextTooLongError`, and as `LanguagePaths.named` and `found`.
        """
        found = file_format(request.name)
        async with self._limiter.reserve(await _size(request, found), client):
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
            [detected] = await self._paths.found([_sample(texts)], request.target)
            path = detected.path
        return OpenedFile(
            request, path, document, found.media_type, texts, document.tagged, n_characters
        )

    async def translate(
        self,
        opened: OpenedFile,
        deadline: float,
        progress: Progress = lambda *_: None,
        client: Hashable = None,
    ) -> TranslatedFile:
        """Translate a file; `client` is for fair queueing. Raises as
        `TranslationService.translate`.
        """
        asked = opened.request
        glossary = Glossary(asked.glossary) if asked.glossary else NO_GLOSSARY
        wanted = Wanted(
            asked.beam_size, asked.length_penalty, split="nonewlines", glossary=glossary
        )
        texts = list(zip(opened.texts, opened.tagged, strict=True))
        each = dict.fromkeys(texts)
        work = _Work(
            opened.path.steps(wanted),
            Turn(client, deadline, Timings(), may_be_refused=False),
            progress,
            total=sum(len(text) for text, _ in each),
        )
        await self._work_through(work, list(each))
        answers = [work.answers[text] for text in texts]
        return TranslatedFile(
            data=await in_thread(partial(opened.document.with_translations, answers)),
            target=opened.path.languages[-1],
            media_type=opened.media_type,
            flags=dict(work.flags),
        )

    async def _work_through(self, work: _Work, texts: Sequence[tuple[str, bool]]) -> None:
        chunks = _chunks(texts)

        async def worker() -> None:
            for chunk in chunks:
                await self._translate_chunk(work, chunk)

        await side_by_side(worker() for _ in range(CHUNKS_AT_A_TIME))

    async def _translate_chunk(self, work: _Work, chunk: Sequence[tuple[str, bool]]) -> None:
        blocks = [Block(text, tagged) for text, tagged in chunk]
        await translate_blocks(blocks, work.steps, work.turn)
        for text, block in zip(chunk, blocks, strict=True):
            work.answers[text] = block.answer()
            work.flags.update(flag for one in block.passes for flag in one.flags)
        work.done += sum(len(text) for text, _ in chunk)
        work.progress(work.done, work.total)


async def _size(request: FileRequest, found: FileFormat) -> int:
    return await in_thread(partial(found.size, request.data))


def _chunks(texts: Sequence[tuple[str, bool]]) -> Iterator[list[tuple[str, bool]]]:
    chunk: list[tuple[str, bool]] = []
    n_characters = 0
    for text in texts:
        chunk.append(text)
        n_characters += len(text[0])
        if len(chunk) == CHUNK_TEXTS or n_characters >= CHUNK_CHARACTERS:
            yield chunk
            chunk, n_characters = [], 0
    if chunk:
        yield chunk


def _sample(texts: Sequence[str]) -> str:
    """Return enough text without markup to detect the language."""
    sample = ""
    for text in texts:
        sample += ATOM.sub(" ", text) + "\n"
        if len(sample) >= SAMPLE_CHARACTERS:
            break
    return sample


def translated_name(name: str, target: str) -> str:
    """Return the name of a translation: `report.docx` → `report.fr.docx`."""
    path = PurePath(name)
    return f"{path.stem}.{target}{path.suffix}"
