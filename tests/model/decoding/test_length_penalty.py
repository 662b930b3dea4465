from __future__ import annotations

from model.decoding.length_penalty import length_normalisation


def test_that_of_wu_et_al_by_hand() -> None:
    assert length_normalisation(1, 0.6, 5) == 1.0
    assert length_normalisation(7, 1.0, 5) == 2.0
    assert length_normalisation(19, 0.5, 5) == 2.0
    assert length_normalisation(100, 0.0, 5) == 1.0


def test_that_of_marian_and_transformers_by_hand() -> None:
    assert length_normalisation(1, 0.6, 0) == 1.0
    assert length_normalisation(7, 1.0, 0) == 7.0
    assert length_normalisation(16, 0.5, 0) == 4.0
    assert length_normalisation(100, 0.0, 0) == 1.0
