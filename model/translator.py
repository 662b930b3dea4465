"""Text in, text out: many sentences over an engine, those of like length together.

For programs that have all their sentences at hand; a server schedules requests instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from model.checkpoint import Checkpoint
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.engine.eager import EagerEngine
from model.engine.protocol import Engine, Job
from model.errors import InputError
from model.text_codec import TextCodec

BATCH_TOKENS = 2048
"""Source tokens in one batch, padding included; a beam multiplies the rows."""


@dataclass(frozen=True, slots=True)
class Translation:
    """One sentence translated.

    score      what the search ranked by, a length-normalised log-probability; 0 without a search
    token_ids  target tokens without the end-of-sentence token, and `tokens`, their pieces
    capped     the token limit cut it short
    """

    text: str
    score: float
    token_ids: tuple[int, ...]
    tokens: tuple[str, ...]
    capped: bool


class SentenceTooLongError(InputError):
    """More tokens than the model reads; `index` is the sentence's place among those given."""

    def __init__(self, index: int, n_tokens: int, limit: int) -> None:
        super().__init__(f"{n_tokens} tokens, the model reads at most {limit}")
        self.index = index


class Translator:
    """Translates lists of sentences. One without anything to translate stays as it is."""

    def __init__(self, tokenizer: TextCodec, max_length: int, engine: Engine) -> None:
        self._tokenizer = tokenizer
        self._max_length = max_length
        self._engine = engine

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> Self:
        """Over the reference engine."""
        max_length = checkpoint.config.transformer.max_length
        return cls(checkpoint.tokenizer, max_length, EagerEngine(checkpoint.model, BATCH_TOKENS))

    def translate(
        self, texts: Sequence[str], target: str, options: SearchOptions
    ) -> list[Translation]:
        """One translation a text, in the same order; errors as `translate_as_ready`."""
        translations = dict(self.translate_as_ready(texts, target, options))
        return [translations[index] for index in range(len(texts))]

    def translate_as_ready(
        self, texts: Sequence[str], target: str, options: SearchOptions
    ) -> Iterator[tuple[int, Translation]]:
        """(index, translation) of every text, as the engine finishes them, the longest first.

        Before anything is translated it raises `LanguageError` for a target that the vocabulary
        has no symbol for, and `SentenceTooLongError`.
        """
        jobs = []
        for index, text in enumerate(texts):
            ids = tuple(token.id for token in self._tokenizer.encode_source(text, target))
            if len(ids) > self._max_length:
                raise SentenceTooLongError(index, len(ids), self._max_length)
            if text.isspace() or len(ids) == self._tokenizer.n_control_tokens:
                yield index, Translation(text, 0.0, (), (), capped=False)
            else:
                jobs.append(Job(index, ids, options))
        # Longest first, so that a batch that does not fit into memory fails at once.
        waiting = deque(sorted(jobs, key=lambda job: len(job.source_ids), reverse=True))
        try:
            while waiting or self._engine.busy:
                while waiting and self._engine.room(waiting[0]):
                    self._engine.admit([waiting.popleft()])
                for finished in self._engine.step():
                    if isinstance(finished.outcome, Exception):
                        raise finished.outcome
                    yield finished.job_id, self._translation(finished.outcome[0])
        finally:
            self._engine.cancel([job.id for job in jobs])  # where an error or the caller ended it

    def _translation(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=self._tokenizer.decode(hypothesis.ids),
            score=hypothesis.score,
            token_ids=hypothesis.ids,
            tokens=tuple(self._tokenizer.piece(token_id) for token_id in hypothesis.ids),
            capped=hypothesis.capped,
        )
