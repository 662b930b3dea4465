import math

import pytest

from model.evaluation import score_translations


def test_a_bleu_computed_by_hand() -> None:
    # Precisions 5/6, 3/5, 1/4 and, none of 3 4-grams matching, 1/(2·3); equal lengths.
    scores = score_translations(["the cat sat on a mat"], ["the cat sat on the mat"])
    precisions = [5 / 6, 3 / 5, 2 / 4, 1 / 3]
    assert scores["bleu"] == pytest.approx(100 * math.prod(precisions) ** 0.25)


def test_nothing_scores_nothing_and_the_reference_scores_100() -> None:
    assert score_translations([""], ["a b c d e"])["bleu"] == 0
    same = score_translations(["a b c d e"], ["a b c d e"])
    assert same["bleu"] == pytest.approx(100)
    assert same["chrf"] == pytest.approx(100)


def test_signatures_describe_the_computation() -> None:
    scores = score_translations(["a"], ["b"])
    assert "tok:13a|smooth:exp" in scores["bleu_signature"]
    assert "nc:6|nw:0" in scores["chrf_signature"]
