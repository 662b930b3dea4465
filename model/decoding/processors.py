"""Logits processors: what a search forbids and penalises beside its rule; no tensors.

Names and definitions are those of `transformers` (v5, `logits_process.py`) and CTranslate2. See
`Traits.processors` for where these differ.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_BAD_TOKENS = 256
"""In all bad words of a search together."""

MAX_REPETITION_PENALTY = 100.0

MAX_TEMPERATURE = 10.0

N_SAMPLED = 50
"""The most probable tokens, among which a token is drawn: `top_k` of `transformers`."""


@dataclass(frozen=True, slots=True)
class LogitsProcessors:
    """Tokens that a search forbids or penalises; the defaults change nothing. Raises `ValueError`.

    min_length            tokens before the end of sentence, without a given first token
    no_repeat_ngram_size  no sequence of this many tokens occurs twice in a hypothesis; 0: any may
    repetition_penalty    θ of Keskar et al. 2019 (§4.1) for tokens that a hypothesis has: its
                          score is multiplied by θ if it is negative, else divided; 1: none
    bad_words_ids         sequences of tokens that no hypothesis has
    """

    min_length: int = 0
    no_repeat_ngram_size: int = 0
    repetition_penalty: float = 1.0
    bad_words_ids: tuple[tuple[int, ...], ...] = ()

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  (stored in a checkpoint)

    def __post_init__(self) -> None:
        for name in ("min_length", "no_repeat_ngram_size"):
            if (value := getattr(self, name)) < 0:
                raise ValueError(f"{name} must be at least 0, not {value}")
        if not 0 < self.repetition_penalty <= MAX_REPETITION_PENALTY:  # also rejects NaN
            raise ValueError(
                f"repetition_penalty must be above 0, at most {MAX_REPETITION_PENALTY:g}, "
                f"not {self.repetition_penalty}"
            )
        if not all(self.bad_words_ids):
            raise ValueError("bad_words_ids has an empty sequence")
        if (n := sum(map(len, self.bad_words_ids))) > MAX_BAD_TOKENS:
            raise ValueError(f"bad_words_ids has {n} tokens: at most {MAX_BAD_TOKENS}")

    def forbidden(self, start: Sequence[int], ids: Sequence[int]) -> Iterator[int]:
        """Yield the tokens that n-grams and bad words forbid after a hypothesis.

        `start` precedes its `ids` in the sequence whose n-grams count.
        """
        before = [*start, *ids]
        n = self.no_repeat_ngram_size
        for end in range(n, len(before) + 1) if n else ():
            if before[end - n : end - 1] == before[len(before) - n + 1 :]:
                yield before[end - 1]
        for *first, last in self.bad_words_ids:
            if len(first) <= len(ids) and list(ids[len(ids) - len(first) :]) == first:
                yield last

    def may_end(self, n_tokens: int, n_given: int) -> bool:
        """Whether the end of sentence may follow `n_tokens`, the given ones included."""
        return n_tokens >= self.min_length + n_given


NO_PROCESSORS = LogitsProcessors()
