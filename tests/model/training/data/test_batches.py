import itertools
import os
import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from model.errors import DataError, TrainingError
from model.text.tokenizer import Tokenizer
from model.training.data.batches import START, Batch, BatchStream, Corpus, Position
from model.training.data.noise import NoiseConfig
from model.training.data.vocabulary import train_tokenizer
from tests.model.training.toy import VOCABULARY, own, toy_pairs

NOISY = NoiseConfig(lowercase_source=0.1, uppercase=0.1, attach=0.1, copy_only=0.1, join=0.3)


@pytest.fixture
def stream(tokenizer: Tokenizer) -> BatchStream:
    return BatchStream(
        corpora=(Corpus(("xx", "yy"), toy_pairs(100), 1.0),),
        directions=frozenset({("xx", "yy"), ("yy", "xx")}),
        tokenizer=tokenizer,
        noise=NoiseConfig(),
        seed=7,
        chunk_pairs=40,
        batch_tokens=60,
        max_length=30,
    )


def are_equal(left: list[Batch], right: list[Batch]) -> bool:
    return len(left) == len(right) and all(
        np.array_equal(a.source, b.source) and np.array_equal(a.target, b.target)
        for a, b in zip(left, right, strict=True)
    )


def texts(stream: BatchStream, batches: list[Batch]) -> list[tuple[str, str, str]]:
    """Return the target language, source and target of every example."""
    tokenizer = own(stream.tokenizer)
    languages = {tokenizer.language_id(language): language for _, language in stream.directions}
    return [
        (languages[source[0]], tokenizer.decode(source.tolist()), tokenizer.decode(target.tolist()))
        for batch in batches
        for source, target in zip(batch.source, batch.target, strict=True)
    ]


def test_a_chunk_is_a_function_of_seed_and_number(stream: BatchStream) -> None:
    stream = replace(stream, noise=NOISY)
    assert are_equal(stream.chunk(3), replace(stream).chunk(3))
    assert not are_equal(stream.chunk(3), stream.chunk(4))
    assert not are_equal(stream.chunk(3), replace(stream, seed=8).chunk(3))


def test_every_pair_is_seen_exactly_once_per_pass(stream: BatchStream) -> None:
    pairs = sorted(stream.corpora[0].pairs)
    # 5 chunks of 40 are 2 passes over 100 pairs, the third chunk lies across both.
    seen = [
        (source, target) if language == "yy" else (target, source)
        for number in range(5)
        for language, source, target in texts(stream, stream.chunk(number))
    ]
    assert sorted(seen) == sorted(pairs * 2)
    one_pass = replace(stream, chunk_pairs=100)
    orders = [texts(one_pass, one_pass.chunk(number)) for number in range(2)]
    assert orders[0] != orders[1]


def test_both_directions_are_drawn_or_one_if_configured(stream: BatchStream) -> None:
    languages = Counter(language for language, *_ in texts(stream, stream.chunk(0)))
    assert min(languages["xx"], languages["yy"]) > 8
    one_way = replace(stream, directions=frozenset({("yy", "xx")}))
    assert {language for language, *_ in texts(one_way, one_way.chunk(0))} == {"xx"}


@pytest.mark.parametrize("noise", [NoiseConfig(), NOISY])
def test_batches_are_bounded_and_padded_on_the_right(
    stream: BatchStream, noise: NoiseConfig
) -> None:
    tokenizer = stream.tokenizer
    for batch in replace(stream, noise=noise).chunk(0):
        for side in batch:
            assert side.size <= 60
            for row in side:
                real = row[row != tokenizer.pad_id]
                assert real[-1] == tokenizer.eos_id
                assert np.array_equal(row[: len(real)], real)
        assert len(batch.source) == len(batch.target)


def test_batches_are_of_similar_length_and_in_random_order(stream: BatchStream) -> None:
    widths = [batch.source.shape[1] for batch in replace(stream, chunk_pairs=100).chunk(0)]
    assert widths != sorted(widths)
    padding = sum(int((batch.source == stream.tokenizer.pad_id).sum()) for batch in stream.chunk(0))
    assert padding < 0.1 * sum(batch.source.size for batch in stream.chunk(0))


def test_batches_from_a_position_are_the_tail_of_all(stream: BatchStream) -> None:
    taken = list(itertools.islice(stream.batches(START), 40))
    assert taken[0][1] == Position(0, 1)
    assert taken[-1][1].chunk >= 2
    for index in (0, 1, 7, 20, 30):
        position = taken[index][1]
        tail = itertools.islice(stream.batches(position), len(taken) - index - 1)
        rest = taken[index + 1 :]
        resumed = list(tail)
        assert are_equal([batch for batch, _ in resumed], [batch for batch, _ in rest])
        assert [place for _, place in resumed] == [place for _, place in rest]


def test_a_worker_prepares_the_same_batches(stream: BatchStream) -> None:
    stream = replace(stream, noise=NOISY)
    alone = list(itertools.islice(stream.batches(Position(1, 2)), 30))
    helped_by_one = stream.batches(Position(1, 2), workers=1)
    helped = list(itertools.islice(helped_by_one, 30))
    helped_by_one.close()
    assert are_equal([batch for batch, _ in alone], [batch for batch, _ in helped])
    assert [place for _, place in alone] == [place for _, place in helped]


def _kill_worker(number: int) -> list[Batch]:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError(number)


def test_dead_workers_are_reported(stream: BatchStream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("model.training.data.batches._shared_chunk", _kill_worker)
    _kill_worker.__module__, _kill_worker.__qualname__ = (
        "model.training.data.batches",
        "_shared_chunk",
    )
    with pytest.raises(TrainingError, match="prepares batches died"):
        next(stream.batches(START, workers=1))


def test_weights_are_shares_of_the_examples(stream: BatchStream) -> None:
    few, many = toy_pairs(10, seed=1), toy_pairs(100, seed=2)
    mixed = replace(
        stream,
        corpora=(Corpus(("xx", "yy"), few, 3.0), Corpus(("xx", "yy"), many, 1.0)),
        directions=frozenset({("xx", "yy")}),
    )
    sources = [source for _, source, _ in texts(mixed, mixed.chunk(0))]
    assert len(sources) == 40
    counts = Counter(sources)
    assert [counts[source] for source, _ in few] == [3] * 10
    assert sum(counts[source] for source in {source for source, _ in many}) == 10


def test_sentences_longer_than_max_length_are_left_out(stream: BatchStream) -> None:
    short = replace(stream, max_length=8)
    batches = [batch for number in range(5) for batch in short.chunk(number)]
    assert max(side.shape[1] for batch in batches for side in batch) <= 8
    assert 0 < len(texts(short, batches)) < 200


def test_nothing_short_enough_is_an_error_and_not_an_endless_search(stream: BatchStream) -> None:
    with pytest.raises(DataError, match="none of 40 pairs fits into max_length 3"):
        next(replace(stream, max_length=3).batches(START))


def test_joined_pairs_are_of_one_direction(stream: BatchStream) -> None:
    joined = replace(stream, noise=NoiseConfig(join=1.0), max_length=60)
    examples = texts(joined, joined.chunk(0))
    by_source = {a: b for pair in joined.corpora[0].pairs for a, b in (pair, pair[::-1])}
    sizes = Counter(len(source.split()) for _, source, _ in examples)
    assert sizes[1] <= 1  # the rest of the chunk
    assert set(sizes) - {1} == {2, 3, 4}
    for _, source, target in examples:
        assert [by_source[word] for word in source.split()] == target.split()


def test_joining_leaves_no_pair_out(stream: BatchStream) -> None:
    joined = replace(stream, noise=NoiseConfig(join=1.0), max_length=60, chunk_pairs=100)
    directed = replace(joined, directions=frozenset({("xx", "yy")}))
    words = [word for _, line, _ in texts(directed, directed.chunk(0)) for word in line.split()]
    assert sorted(words) == sorted(source for source, _ in stream.corpora[0].pairs)


def test_a_corpus_in_one_direction_with_a_tag(stream: BatchStream, tmp_path: Path) -> None:
    sentences = itertools.chain.from_iterable(toy_pairs(300))
    path = tmp_path / "tagged.model"
    train_tokenizer(sentences, ["xx", "yy"], VOCABULARY + 1, path, tags=["bt"])
    tokenizer = Tokenizer.load(path)
    tagged, plain = toy_pairs(50), toy_pairs(50, seed=1)
    corpora = (
        Corpus(("xx", "yy"), tagged, 1.0, frozenset({("yy", "xx")}), "bt"),
        Corpus(("xx", "yy"), plain, 1.0),
    )
    stream = replace(stream, corpora=corpora, tokenizer=tokenizer, chunk_pairs=100)
    tag, to_xx = tokenizer.tag_id("bt"), tokenizer.language_id("xx")
    rows = [row for batch in stream.chunk(0) for row in batch.source.tolist()]
    assert all(row[0] == to_xx for row in rows if row[1] == tag)
    found = {tokenizer.decode(row) for row in rows if row[1] == tag}
    assert found == {second for _, second in tagged}
    assert len(rows) == 100


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_subword_regularisation_varies_segmentations_but_not_text(
    stream: BatchStream, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "longer.model"  # with pieces of several letters
    sentences = itertools.chain.from_iterable(toy_pairs(300))
    train_tokenizer(sentences, ["xx", "yy"], VOCABULARY + 20, path, kind=kind)
    stream = replace(stream, tokenizer=Tokenizer.load(path))
    sampled = replace(stream, sampling=0.3)
    assert are_equal(sampled.chunk(3), replace(sampled).chunk(3))
    assert not are_equal(sampled.chunk(3), stream.chunk(3))
    assert sorted(texts(stream, sampled.chunk(0))) == sorted(texts(stream, stream.chunk(0)))


@pytest.mark.parametrize("tag", ["", "bt"])
def test_pairs_that_are_too_long_are_those_that_no_chunk_has(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "tagged.model"
    pairs = [*toy_pairs(200, longest=14), ("ﷺ" * 3, "x"), ("a", "é" * 13), ("", "")]
    train_tokenizer(itertools.chain.from_iterable(pairs), ["yy"], 360, path, tags=["bt"])
    corpus = Corpus(("xx", "yy"), pairs, 1.0, tag=tag)
    stream = BatchStream(
        corpora=(corpus,),
        directions=frozenset({("xx", "yy")}),
        tokenizer=Tokenizer.load(path),
        noise=NoiseConfig(),
        seed=7,
        chunk_pairs=len(pairs),
        batch_tokens=60,
        max_length=12,
    )
    used = sum(len(batch.source) for batch in stream.chunk(0))
    n_too_long = stream.n_too_long(corpus)
    assert n_too_long == len(pairs) - 1 - used  # an empty pair is not counted as long
    assert 10 < n_too_long < 150
