import random
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from app.scheduling.deduplication import SentenceCache
from model.decoding.hypothesis import Hypothesis, SearchOptions
from model.decoding.rules import HuggingFaceRule

OPTIONS = SearchOptions()
ids = st.lists(st.integers(0, 2**31 - 1), max_size=9).map(tuple)
numbers = st.floats(width=64, allow_nan=False)
hypotheses = st.builds(
    Hypothesis, ids, st.lists(numbers, max_size=9).map(tuple), numbers, st.booleans()
)


def answer(*tokens: int) -> list[Hypothesis]:
    return [Hypothesis(tokens, (-0.1,) * (len(tokens) + 1), -0.1, capped=False)]


@given(ids, st.lists(hypotheses, max_size=4))
def test_stored_answers_are_found(source_ids: tuple[int, ...], kept: list[Hypothesis]) -> None:
    cache = SentenceCache(1_000_000)
    assert cache.get(source_ids, OPTIONS) is None
    cache.put(source_ids, OPTIONS, kept)
    assert cache.get(list(source_ids), SearchOptions()) == kept


def test_every_option_distinguishes_answers() -> None:
    cache = SentenceCache(1_000_000)
    different = [
        OPTIONS,
        SearchOptions(beam_size=5),
        SearchOptions(n_best=2),
        SearchOptions(length_penalty=0.5),
        SearchOptions(max_target_tokens=9),
        SearchOptions(rule=HuggingFaceRule()),
    ]
    for index, options in enumerate(different):
        cache.put([2, 5, 0], options, answer(index))
    assert len(cache) == len(different)
    for index, options in enumerate(different):
        assert cache.get([2, 5, 0], options) == answer(index)


def test_the_least_recently_used_entry_is_evicted_first() -> None:
    cache = SentenceCache(1_000_000)
    cache.put([1], OPTIONS, answer(1))
    of_one = cache.n_bytes
    cache = SentenceCache(3 * of_one)
    for name in (1, 2, 3):
        cache.put([name], OPTIONS, answer(name))
    assert cache.get([1], OPTIONS) == answer(1)
    cache.put([4], OPTIONS, answer(4))
    assert cache.get([2], OPTIONS) is None
    assert [cache.get([name], OPTIONS) for name in (1, 3, 4)] == [answer(1), answer(3), answer(4)]


def test_answers_larger_than_the_cache_are_not_kept() -> None:
    cache = SentenceCache(1000)
    cache.put([1], OPTIONS, answer(*range(10_000)))
    assert (len(cache), cache.n_bytes) == (0, 0)


def test_put_again_it_counts_once() -> None:
    cache = SentenceCache(1_000_000)
    cache.put([1], OPTIONS, answer(1))
    once = cache.n_bytes
    cache.put([1], OPTIONS, answer(1))
    assert cache.n_bytes == once


def test_the_memory_is_bounded_whatever_is_put() -> None:
    choose = random.Random(5)
    most = 400_000
    cache = SentenceCache(most)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(4000):
            source = [choose.randrange(30_000) for _ in range(choose.randrange(1, 40))]
            tokens = [choose.randrange(30_000) for _ in range(choose.randrange(0, 40))]
            options = SearchOptions(length_penalty=choose.random())
            cache.put(source, options, answer(*tokens) * choose.randrange(1, 4))
            del source, tokens, options
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert cache.n_bytes <= most
    assert 0.5 * most < taken < 1.2 * most
