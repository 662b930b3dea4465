"""Detects the languages of texts in a child process.

lingua holds the interpreter lock while it loads n-grams, for up to 0.8 s at a time, so even in
a thread it would stop the event loop. The first text that needs it starts the process, whose 100 MB
a server never takes if its clients name their sources.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, cast

SAMPLE = 500
"""Code points examined, from the first letter on: half a millisecond."""

AT_ONCE = 100
"""Texts sent at once, so that those of other requests come between a long list's."""

_CODE = "from app.languages.detector import run; run()"


@dataclass(frozen=True, slots=True)
class DetectedLanguage:
    """A language that a text may be in."""

    language: str = field(metadata={"description": "BCP-47 code, preferably of a served language"})
    confidence: float = field(
        metadata={"description": "0 … 1; for a served language, among the served ones"}
    )


class DetectionProcess:
    """A child process with a `LanguageDetector`; it ends with this process, or with its input.

    A process that has died is replaced by the next text.
    """

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._thread = ThreadPoolExecutor(1, "language-detection")

    async def detect(
        self, texts: Sequence[str], languages: Sequence[str]
    ) -> list[list[DetectedLanguage]]:
        """Return the possible languages of each text, as `LanguageDetector.detect`.

        languages  BCP-47 codes served

        Raises OSError if the process cannot be started or dies.
        """
        loop = asyncio.get_running_loop()
        answers: list[list[DetectedLanguage]] = []
        for first in range(0, len(texts), AT_ONCE):
            some = texts[first : first + AT_ONCE]
            answers += await loop.run_in_executor(self._thread, self._ask, some, languages)
        return answers

    def _ask(self, texts: Sequence[str], languages: Sequence[str]) -> list[list[DetectedLanguage]]:
        question = json.dumps([languages, list(map(_beginning, texts))]).encode()
        if self._child and self._child.poll() is not None:
            self.close()
        if self._child is None:
            self._child = _start()
        into, out = cast("IO[bytes]", self._child.stdin), cast("IO[bytes]", self._child.stdout)
        try:
            into.write(question + b"\n")
            into.flush()
            answer = json.loads(out.readline())
        except (OSError, ValueError):  # also at the end of its output
            self.close()
            raise ChildProcessError("the process of language detection died") from None
        return [[DetectedLanguage(*one) for one in candidates] for candidates in answer]

    def close(self) -> None:
        """End the process; another text would start it again."""
        if self._child:
            with self._child as child:
                child.kill()
        self._child = None


PROCESS = DetectionProcess()
"""One for all reloads, which may serve other languages."""


def _start() -> subprocess.Popen[bytes]:
    code = f"import sys; sys.path[:] = {sys.path!r}; {_CODE}"
    return subprocess.Popen(  # noqa: S603  (this program)
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the server, which finishes its requests
    )


def _beginning(text: str) -> str:
    """Return a part with the sample; the whole text if no letter comes soon.

    The process searches: here, a hundred requests of 250,000 characters without a letter would each
    hold the interpreter lock for 9 ms.
    """
    return text[: 2 * SAMPLE] if any(map(str.isalpha, text[:SAMPLE])) else text


def sample(text: str) -> str:
    """Return what is examined of a text."""
    first = next((index for index, character in enumerate(text) if character.isalpha()), len(text))
    return text[first : first + SAMPLE]
