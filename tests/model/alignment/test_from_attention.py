from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from model.alignment.from_attention import (
    AlignmentMethod,
    Bitext,
    Link,
    Pass,
    Symmetrisation,
    WordWeights,
    grow_diag,
    links,
    passes,
    symmetrise,
    word_weights,
)
from model.errors import InputError
from model.text.text_codec import Token
from model.text.tokenizer import Tokenizer
from model.text.words import Span, words

Weights = NDArray[np.float32]


def tokens(*spans: Span) -> list[Token]:
    return [Token(7, "x", start, end) for start, end in spans]


def array(rows: Sequence[Sequence[float]]) -> Weights:
    return np.array(rows, dtype=np.float32)


def matrices(n: int = 6) -> st.SearchStrategy[Weights]:
    row = st.lists(st.integers(0, 8).map(lambda weight: weight / 8), min_size=3, max_size=3)
    return st.lists(row, min_size=1, max_size=n).map(array)


# Source "a bcd": <2xx>, ▁a, ▁b, cd, </s>; target "ef g": ▁e, f, ▁g, </s>.
SOURCE = tokens((0, 0), (0, 1), (1, 3), (3, 5), (5, 5))
TARGET = tokens((0, 1), (1, 2), (2, 4), (4, 4))
SOURCE_WORDS, TARGET_WORDS = [(0, 1), (2, 5)], [(0, 2), (3, 4)]
WEIGHTS = array(
    [
        [0.2, 0.4, 0.1, 0.1, 0.2],
        [0.0, 0.2, 0.3, 0.5, 0.0],
        [0.0, 0.1, 0.3, 0.3, 0.3],
        [0.1, 0.8, 0.1, 0.0, 0.0],
    ]
)[None, None]


def test_pieces_are_gathered_to_words_by_hand() -> None:
    """A source word has the sum of its pieces, a target word the mean of its own."""
    run = Pass(SOURCE, TARGET, SOURCE_WORDS, TARGET_WORDS, reverse=False)
    found = word_weights(run, WEIGHTS)
    np.testing.assert_allclose(found.producing[0, 0], [[0.3, 0.1], [0.5, 0.6]], rtol=1e-6)
    # Position t + 1 reads token t: "ef" has rows 1 and 2, "g" row 3.
    np.testing.assert_allclose(found.reading[0, 0], [[0.15, 0.8], [0.7, 0.1]], rtol=1e-6)


def test_a_reverse_pass_is_transposed() -> None:
    run = Pass(SOURCE, TARGET, SOURCE_WORDS, TARGET_WORDS, reverse=True)
    forward = Pass(SOURCE, TARGET, SOURCE_WORDS, TARGET_WORDS, reverse=False)
    for back, there in zip(word_weights(run, WEIGHTS), word_weights(forward, WEIGHTS), strict=True):
        np.testing.assert_array_equal(back, there.swapaxes(-1, -2))


def test_a_cut_translation_has_no_position_that_reads_its_last_token() -> None:
    run = Pass(SOURCE, TARGET[:3], SOURCE_WORDS, TARGET_WORDS, reverse=False)
    found = word_weights(run, WEIGHTS[:, :, :3])
    np.testing.assert_allclose(found.reading[0, 0, :, 1], [0.1, 0.6], rtol=1e-6)


def test_a_token_across_words_counts_for_each_in_equal_shares() -> None:
    across = tokens((0, 3))  # "l'h" of "l'homme"
    run = Pass(across, tokens((0, 1)), [(0, 2), (2, 7)], [(0, 1)], reverse=False)
    found = word_weights(run, array([[1.0]])[None, None])
    np.testing.assert_allclose(found.producing[0, 0], [[0.5], [0.5]])


def test_a_word_without_tokens_has_no_weight() -> None:
    run = Pass(SOURCE, TARGET, [*SOURCE_WORDS, (6, 7)], [*TARGET_WORDS, (9, 10)], reverse=False)
    found = word_weights(run, WEIGHTS).producing[0, 0]
    assert found[2].tolist() == [0, 0, 0]
    assert found[:, 2].tolist() == [0, 0, 0]
    assert (2, 2) not in symmetrise(found, "argmax", 0)


def test_texts_without_words_have_no_links() -> None:
    run = Pass(SOURCE, TARGET, [], [], reverse=False)
    assert links([word_weights(run, WEIGHTS)], AlignmentMethod()) == []


# Rows are source words.
HAND = array([[0.6, 0.1, 0.0], [0.3, 0.5, 0.4], [0.1, 0.2, 0.3]])


@pytest.mark.parametrize(
    ("symmetrisation", "threshold", "expected"),
    [
        ("argmax", 0, [(0, 0), (1, 1), (1, 2)]),
        ("argmax", 0.45, [(0, 0), (1, 1)]),
        ("intersection", 0, [(0, 0), (1, 1)]),
        # Source 2 prefers target 2, which prefers source 1: both touch what is in.
        ("grow-diag", 0, [(0, 0), (1, 1), (1, 2), (2, 2)]),
        ("grow-diag", 0.3, [(0, 0), (1, 1), (1, 2)]),
    ],
)
def test_links_by_hand(
    symmetrisation: Symmetrisation, threshold: float, expected: list[Link]
) -> None:
    assert symmetrise(HAND, symmetrisation, threshold) == expected


def test_growing_by_hand() -> None:
    one = {(0, 0), (1, 0), (2, 0), (3, 3), (0, 4)}
    other = {(0, 0), (4, 4), (0, 1), (1, 1)}
    # (3, 3) and (4, 4) touch each other but nothing that is in; (0, 4) touches nothing;
    # (1, 1) touches (0, 0), but by then its words may be taken: (0, 1) and (1, 0) came first.
    assert grow_diag(one, other) == {(0, 0), (0, 1), (1, 0), (2, 0)}


@given(matrices(), st.sampled_from([0.0, 0.3, 0.6]))
def test_each_way_of_reading_contains_the_stricter_one(weights: Weights, threshold: float) -> None:
    by_target = set(symmetrise(weights, "argmax", threshold))
    by_source = {(i, j) for j, i in symmetrise(weights.T, "argmax", threshold)}
    mutual = set(symmetrise(weights, "intersection", threshold))
    grown = set(symmetrise(weights, "grow-diag", threshold))
    assert mutual == by_target & by_source
    assert mutual <= grown <= by_target | by_source
    assert all(weights[link] > threshold for link in grown)
    assert len({j for _, j in by_target}) == len(by_target)


@given(matrices())
def test_the_diagonal_aligns_with_itself(weights: Weights) -> None:
    square = np.eye(len(weights), dtype=np.float32)
    for symmetrisation in ("argmax", "intersection", "grow-diag"):
        diagonal = [(i, i) for i in range(len(weights))]
        assert symmetrise(square, symmetrisation, 0.5) == diagonal


@given(matrices())
def test_symmetric_readings_do_not_depend_on_which_side_is_the_source(weights: Weights) -> None:
    if len(np.unique(weights)) < weights.size:
        return  # of equal weights the first is chosen, which is another one in the transpose
    there = symmetrise(weights, "intersection", 0.1)
    back = symmetrise(np.ascontiguousarray(weights.T), "intersection", 0.1)
    assert {(j, i) for i, j in back} == set(there)


def two_layers() -> WordWeights:
    """Layer l, head h attends to source word 2l + h, when the token is read to word 0."""
    producing = np.zeros((2, 2, 4, 1), dtype=np.float32)
    for layer in range(2):
        for head in range(2):
            producing[layer, head, 2 * layer + head] = 0.5 + head / 10
    reading = np.zeros_like(producing)
    reading[:, :, 0] = 1
    return WordWeights(producing, reading)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        (AlignmentMethod(), 3),  # the mean of the last layer, where head 1 has the larger weight
        (AlignmentMethod(layer=0), 1),
        (AlignmentMethod(layer=0, head=0), 0),
        (AlignmentMethod(head=0), 2),
        (AlignmentMethod(position="reading"), 0),
    ],
)
def test_a_method_chooses_layer_head_and_position(method: AlignmentMethod, expected: int) -> None:
    assert links([two_layers()], method) == [(expected, 0)]


def test_both_directions_are_averaged() -> None:
    there = WordWeights(*[array([[0.9, 0.0], [0.0, 0.4]])[None, None]] * 2)
    back = WordWeights(*[array([[0.1, 0.0], [0.8, 0.0]])[None, None]] * 2)
    both = AlignmentMethod(both_directions=True, threshold=0.3)
    assert links([there, back], both) == [(0, 0)]  # 0.5 against 0.4; and 0.2 is too little
    assert links([there, back], AlignmentMethod()) == [(0, 0), (1, 1)]
    assert links([there], both) == [(0, 0), (1, 1)]


def bitext(source: str, target: str, produced: list[Token] | None = None) -> Bitext:
    return Bitext(source, target, "en", "fr", words(source), words(target), produced)


def test_the_passes_of_a_pair(tokenizer: Tokenizer) -> None:
    pair = bitext("the dog", "le chien")
    there, back = passes(tokenizer, 50, pair, both_directions=True)
    assert there.source == tokenizer.encode_source("the dog", "fr")
    assert there.target == tokenizer.encode_target("le chien")
    assert back.source == tokenizer.encode_source("le chien", "en")
    assert back.target == tokenizer.encode_target("the dog")
    assert (there.reverse, back.reverse) == (False, True)
    assert (there.source_words, there.target_words) == (back.target_words, back.source_words)
    assert there.ids[0][0] == tokenizer.language_id("fr")
    assert back.ids[1][-1] == tokenizer.eos_id
    assert passes(tokenizer, 50, pair, both_directions=False) == [there]


def test_the_decoders_tokens_are_aligned_unchanged(tokenizer: Tokenizer) -> None:
    produced = tokenizer.decode_target([40, 41])[1]
    (run,) = passes(tokenizer, 50, bitext("the dog", "x", produced), both_directions=False)
    assert run.target == produced


def test_a_pair_that_is_too_long(tokenizer: Tokenizer) -> None:
    n_source = len(tokenizer.encode_source("the dog", "fr"))
    long = "le chien " * 10
    with pytest.raises(InputError, match=f"tokens, the model reads at most {n_source}$"):
        passes(tokenizer, n_source, bitext("the dog", long), both_directions=True)
    with pytest.raises(InputError, match=f"^{n_source} tokens"):
        passes(tokenizer, n_source - 1, bitext("the dog", ""), both_directions=True)
    # Only the reverse pass is: its source has one symbol more than the decoder's output.
    n_target = len(tokenizer.encode_target(long))
    runs = passes(tokenizer, n_target, bitext("the dog", long), both_directions=True)
    assert [run.reverse for run in runs] == [False]
