"""The order of training: an infinite stream of batches by token count, with random access.

The stream consists of chunks of a fixed number of pairs. A chunk is a pure function of the seed
and its number: some pairs of each corpus (reshuffled for every pass), a random direction and noise
for each pair, sorted by length into batches of about the same number of tokens (§5.1), shuffled.
Resuming needs only (chunk, batch), and other processes can prepare chunks.
"""

import itertools
import multiprocessing
import signal
import unicodedata
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np
import sentencepiece
from numpy.typing import NDArray

from model.errors import DataError, TrainingError
from model.text.text_codec import TrainingCodec
from model.text.tokenizer import Tokenizer
from model.training.data.noise import NoiseConfig, Pair, join_pairs

Ids = NDArray[np.int32]


class Position(NamedTuple):
    """A position in the stream: the next batch to train on."""

    chunk: int
    batch: int


START = Position(0, 0)

_TOKENISED_PAIRS = 10_000
"""Pairs tokenised at a time: the ids of a million would take a gigabyte."""


class Batch(NamedTuple):
    """Right-padded ids: source [B, S] with `<2xx>` and `</s>`, target [B, T] with `</s>`."""

    source: Ids
    target: Ids


@dataclass(frozen=True)
class Corpus:
    """Pairs in two languages, and their share of each chunk.

    directions  the directions that it is used in; empty: both
    tag         symbol before each source; empty: none
    """

    languages: tuple[str, str]
    pairs: list[tuple[str, str]]
    weight: float
    directions: frozenset[tuple[str, str]] = frozenset()
    tag: str = ""


@dataclass(frozen=True)
class BatchStream:
    """The training batches of one seed.

    chunk_pairs        pairs per chunk
    batch_tokens       maximum tokens of one side in a batch, including padding
    max_length         longer sentences are skipped
    sampling           subword regularisation of both sides by a `Tokenizer`; see its `sample_batch`
    """

    corpora: tuple[Corpus, ...]
    directions: frozenset[tuple[str, str]]
    tokenizer: TrainingCodec
    noise: NoiseConfig
    seed: int
    chunk_pairs: int
    batch_tokens: int
    max_length: int
    sampling: float = 0.0

    def chunk(self, number: int) -> list[Batch]:
        """Return a chunk's batches in training order. Raises `DataError` if no pair fits."""
        random = Random(f"{self.seed} {number}")
        if self.sampling:
            sentencepiece.set_random_generator_seed(Random(number).getrandbits(31) ^ self.seed)
        examples: list[tuple[list[int], list[int]]] = []
        for index, corpus in enumerate(self.corpora):
            examples += self._examples(corpus, self._draw(index, number), random)
        if not examples:
            raise DataError(
                f"none of {self.chunk_pairs} pairs fits into max_length {self.max_length} tokens"
            )
        return self._bucket(examples, random)

    def n_too_long(self, corpus: Corpus) -> int:
        """Count the pairs that are longer than `max_length` even without noise."""
        is_forward = corpus.languages in self._directions(corpus)
        pairs = corpus.pairs if is_forward else [(second, first) for first, second in corpus.pairs]
        _, target = corpus.languages if is_forward else corpus.languages[::-1]
        n_symbols = len(self.tokenizer.source_symbols(target, corpus.tag)) + len(["</s>"])
        # A piece has at least one byte, so few pairs need to be tokenised.
        long = [
            pair
            for pair in pairs
            if n_symbols + max(map(_n_bytes, pair)) + len("▁") > self.max_length
        ]
        count = 0
        for start in range(0, len(long), _TOKENISED_PAIRS):
            part = long[start : start + _TOKENISED_PAIRS]
            sources = self.tokenizer.encode_batch([source for source, _ in part])
            targets = self.tokenizer.encode_targets([target for _, target in part])
            count += sum(
                not self._fits(source, target_ids, n_symbols)
                for source, target_ids in zip(sources, targets, strict=True)
            )
        return count

    def batches(self, start: Position, workers: int = 0) -> Generator[tuple[Batch, Position]]:
        """Yield batches from `start`, with the position after each, infinitely. Close it to stop.

        With `workers`, that many processes prepare chunks.
        """
        first = start.batch
        for number, chunk in self._chunks(start.chunk, workers):
            for index in range(first, len(chunk)):
                is_last = index + 1 == len(chunk)
                yield (
                    chunk[index],
                    Position(number + 1, 0) if is_last else Position(number, index + 1),
                )
            first = 0

    def _chunks(self, number: int, workers: int) -> Iterator[tuple[int, list[Batch]]]:
        if not workers:
            while True:
                yield number, self.chunk(number)
                number += 1
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, context, initializer=_share, initargs=(self,)) as pool:
            pending: deque[Future[list[Batch]]] = deque()
            ahead = number
            try:
                while True:
                    while len(pending) < workers + 1:
                        pending.append(pool.submit(_shared_chunk, ahead))
                        ahead += 1
                    yield number, pending.popleft().result()
                    number += 1
            except BrokenProcessPool:
                raise TrainingError(
                    "a process that prepares batches died; out of memory?"
                ) from None
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _draw(self, index: int, number: int) -> list[tuple[str, str]]:
        """Return the pairs of one corpus in a chunk: the next slice of its shuffled passes."""
        corpus = self.corpora[index]
        total = sum(other.weight for other in self.corpora)
        count = max(1, round(self.chunk_pairs * corpus.weight / total))
        size = len(corpus.pairs)
        drawn: list[tuple[str, str]] = []
        start = number * count
        while len(drawn) < count:
            pass_number, offset = divmod(start, size)
            order = np.random.default_rng([self.seed, index, pass_number]).permutation(size)
            taken = order[offset : offset + count - len(drawn)]
            drawn += [corpus.pairs[i] for i in taken]
            start += len(taken)
        return drawn

    def _examples(
        self, corpus: Corpus, drawn: list[tuple[str, str]], random: Random
    ) -> list[tuple[list[int], list[int]]]:
        """Return the source and target ids of pairs, after choosing direction and noise."""
        forward = corpus.languages
        choices = self._directions(corpus)
        by_target: dict[str, list[Pair]] = {target: [] for _, target in choices}
        pairs = iter(drawn)
        for first, second in pairs:
            direction = random.choice(choices)
            group = [(first, second)]
            if random.random() < self.noise.join:
                group += itertools.islice(pairs, random.randint(1, 3))
            oriented = [
                Pair(*pair) if direction == forward else Pair(*pair[::-1]) for pair in group
            ]
            joined = join_pairs(oriented)
            by_target[direction[1]].append(self.noise.apply(joined, random))
        eos = self.tokenizer.eos_id
        examples = []
        for language, noised in by_target.items():
            prefix = self.tokenizer.source_symbols(language, corpus.tag)
            sources, targets = self._encode(noised)
            examples += [
                ([*prefix, *source, eos], [*target, eos])
                for source, target in zip(sources, targets, strict=True)
                if source and target and self._fits(source, target, len(prefix) + len([eos]))
            ]
        return examples

    def _directions(self, corpus: Corpus) -> list[tuple[str, str]]:
        both = (corpus.languages, corpus.languages[::-1])
        allowed = self.directions & (corpus.directions or frozenset(both))
        return [direction for direction in both if direction in allowed]

    def _fits(self, source: list[int], target: list[int], n_symbols: int) -> bool:
        return max(len(source), len(target)) + n_symbols <= self.max_length

    def _encode(self, pairs: list[Pair]) -> tuple[list[list[int]], list[list[int]]]:
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        codec, alpha = self.tokenizer, self.sampling
        if alpha and isinstance(codec, Tokenizer):
            return codec.sample_batch(sources, alpha), codec.sample_batch(targets, alpha)
        return codec.encode_batch(sources), codec.encode_targets(targets)

    def _bucket(self, examples: list[tuple[list[int], list[int]]], random: Random) -> list[Batch]:
        random.shuffle(examples)
        # Padding costs most in the encoder, so sort by source; the loss skips padded targets.
        examples.sort(key=lambda example: (len(example[0]), len(example[1])))
        batches: list[Batch] = []
        bucket: list[tuple[list[int], list[int]]] = []
        widest = 0
        for example in examples:
            width = max(len(example[0]), len(example[1]))
            if bucket and max(widest, width) * (len(bucket) + 1) > self.batch_tokens:
                batches.append(self._pad(bucket))
                bucket, widest = [], 0
            bucket.append(example)
            widest = max(widest, width)
        if bucket:
            batches.append(self._pad(bucket))
        random.shuffle(batches)
        return batches

    def _pad(self, bucket: list[tuple[list[int], list[int]]]) -> Batch:
        sources, targets = zip(*bucket, strict=True)
        return Batch(self._pad_side(sources), self._pad_side(targets))

    def _pad_side(self, rows: tuple[list[int], ...]) -> Ids:
        padded = np.full((len(rows), max(map(len, rows))), self.tokenizer.pad_id, dtype=np.int32)
        for index, row in enumerate(rows):
            padded[index, : len(row)] = row
        return padded


def _n_bytes(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(unicodedata.normalize("NFKC", text).encode("utf-8", "replace"))


_shared: list[BatchStream] = []
"""The stream of a worker process, inherited by forking."""


def _share(stream: BatchStream) -> None:
    # Ctrl-C reaches every process of the terminal; only the trainer handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _shared.append(stream)


def _shared_chunk(number: int) -> list[Batch]:
    return _shared[0].chunk(number)
