from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.flags import (
    MAX_PERIOD,
    MIN_LOG_PROB,
    MIN_REPEATS,
    MIN_WORD_LOG_PROB,
    has_invented_word,
    has_too_few_words,
    is_copied,
    is_garbled,
    is_improbable,
    is_repetition,
    is_truncated,
    lost_characters,
    most_turns,
)
from tests.cases import cases
from tests.linear import assert_linear


@pytest.mark.parametrize(
    ("ids", "turns"),
    [
        ([], 1),
        ([7], 1),
        ([1, 2, 3, 1, 2], 1),
        ([1, 1, 1], 3),
        ([9, 1, 2, 1, 2, 1, 2, 1, 9], 3),  # 1 2 three times, and a half
        ([1, 1, 2, 1, 1, 2], 2),
        ([*range(MAX_PERIOD)] * 4, 4),
        ([*range(MAX_PERIOD + 1)] * 4, 1),
    ],
)
def test_the_turns_of_a_circle_are_counted(ids: list[int], turns: int) -> None:
    assert most_turns(ids) == turns


@given(
    st.lists(st.integers(0, 3), max_size=20), st.lists(st.integers(0, 3), min_size=1, max_size=5)
)
def test_a_phrase_repeated_n_times_has_n_turns_or_more(
    before: list[int], phrase: list[int]
) -> None:
    assert most_turns([*before, *phrase * 4]) >= 4


@given(st.lists(st.integers(0, 2), max_size=14), st.lists(st.integers(0, 2), max_size=40))
def test_a_repetition_has_more_turns_than_the_source(read: list[int], written: list[int]) -> None:
    turns = most_turns(written)
    expected = turns > MIN_REPEATS and turns - most_turns(read) >= MIN_REPEATS
    assert is_repetition(read, written) == expected


def test_repetition_is_judged_by_the_source() -> None:
    no_four_times = [5, 6] * 4
    assert is_repetition([1, 2, 3], no_four_times)
    assert not is_repetition([1, 2, 3], [5, 6] * 3)
    assert not is_repetition([8] * 4, no_four_times)
    assert not is_repetition([8] * 4, [5, 6] * 6)
    assert is_repetition([8] * 4, [5, 6] * 7)


def test_a_translation_far_shorter_than_its_source_leaves_something_out() -> None:
    assert is_truncated(20, 7)
    assert not is_truncated(20, 8)
    assert not is_truncated(15, 0)  # a rare word has many tokens, its translation may have one


@pytest.mark.parametrize(
    ("source", "target", "too_few"), cases(__file__, "words_are_missing_where_there_are_far_fewer")
)
def test_words_are_missing_where_there_are_far_fewer(
    source: str, target: str, too_few: bool
) -> None:
    assert has_too_few_words(source, target) == too_few


@pytest.mark.parametrize(
    ("source", "target", "copied"), cases(__file__, "a_copy_has_the_words_of_its_source")
)
def test_a_copy_has_the_words_of_its_source(source: str, target: str, copied: bool) -> None:
    assert is_copied(source, target) == copied


def test_a_character_is_lost_if_it_is_not_in_the_target() -> None:
    assert not lost_characters("", "abc")
    assert not lost_characters("é😀", "😀 é")
    assert lost_characters("😀😀", "😀")


def test_time_is_linear_in_the_length_of_the_target() -> None:
    assert is_repetition([1], [1] * 2000)
    assert_linear(lambda n: is_repetition([1], [1] * n), 2000)


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=30))
def test_a_repetition_is_recognised_by_its_turns_alone(
    source: list[int], target: list[int]
) -> None:
    turns = most_turns(target)
    expected = turns > MIN_REPEATS and turns - most_turns(source) >= MIN_REPEATS
    assert is_repetition(source, target) == expected


def test_many_improbable_tokens_are_doubtful_and_few_are_not() -> None:
    assert is_improbable([-0.8] * 5)
    assert not is_improbable([-0.6] * 50)
    assert not is_improbable([-0.8] * 4)  # possibly the less usual of two words
    assert not is_improbable([])


@pytest.mark.parametrize(
    ("pieces", "log_probs", "is_invented"),
    [
        (["▁le", "▁bom", "bat"], [-0.1, -2.0, -1.5], True),
        (["▁bom", "bat"], [-2.0, -1.0], False),  # not improbable enough
        (["▁le", "▁chat"], [-0.1, -9.0], False),  # pieces are words
        (["▁l", "'", "e", "calypt", "us"], [-0.1, -0.1, -1.5, -1.5, -1.5], True),
        (["▁wom", "bat"], [-2.0, -2.0], False),  # copied
        (["▁天", "気", "が"], [-2.0, -2.0, -2.0], False),  # no spaces between words
        (["▁12", "34"], [-2.0, -2.0], False),
        (["▁a", "-", "b"], [-2.0, -2.0, -2.0], False),
        ([], [], False),
    ],
)
def test_improbable_pieces_in_one_word_are_an_invented_word(
    pieces: list[str], log_probs: list[float], is_invented: bool
) -> None:
    end = [-0.1]
    assert has_invented_word(pieces, [*log_probs, *end], "the Wombat") == is_invented


@pytest.mark.parametrize(
    ("source", "target", "garbled"),
    [
        ("HEAD", "HEAD·e", True),
        ("étudiant·e", "student·e", False),
        ("a book", "col·lecció", False),
        ("a", "mир", True),
        ("мир", "мир et monde", False),
        ("plain", "plain", False),
    ],
)
def test_no_word_has_these_signs(source: str, target: str, garbled: bool) -> None:
    assert is_garbled(source, target) == garbled


def test_precision_and_recall_of_the_thresholds() -> None:
    """judged.tsv: judgement, log-probability and number of tokens, log-probability of the least
    probable word, source language, source, output of the checkpoint of November 2026."""
    judged = (Path(__file__).parent / "judged.tsv").read_text("utf-8").splitlines()
    counts = {(judgement, flag): 0 for judgement in ("salad", "wrong", "right") for flag in (0, 1)}
    for line in judged:
        judgement, total, n_tokens, word, *_ = line.split("\t")
        improbable = float(total) <= min(MIN_WORD_LOG_PROB, MIN_LOG_PROB * int(n_tokens))
        counts[judgement, improbable or float(word) <= MIN_WORD_LOG_PROB] += 1
    flagged = sum(counts[judgement, 1] for judgement in ("salad", "wrong", "right"))
    assert len(judged) == 323
    assert counts["salad", 1] >= 0.7 * (counts["salad", 0] + counts["salad", 1])
    assert counts["right", 1] <= 0.05 * flagged
