import math

import pytest

from model.decoding.rules import (
    HuggingFaceRule,
    MarianRule,
    Traits,
    length_normalisation,
    traits_of,
)


def test_a_limit_of_no_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="max_target_tokens must be at least 1, not 0"):
        HuggingFaceRule(max_target_tokens=0)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.inf, math.nan])
def test_an_invalid_length_factor_is_refused(factor: float) -> None:
    with pytest.raises(ValueError, match=f"max_length_factor must be above 0, not {factor}"):
        MarianRule(unk_id=1, max_length_factor=factor)


def test_an_invalid_id_is_refused() -> None:
    with pytest.raises(ValueError, match="unk_id must be at least 0, not -1"):
        MarianRule(unk_id=-1)


@pytest.mark.parametrize(
    ("stopping", "named"), [(True, "full"), (False, "settled at present"), ("never", "settled")]
)
def test_early_stopping_has_three_values(stopping: bool, named: str) -> None:
    assert HuggingFaceRule(stopping).traits.stopping == named


def test_differences_between_the_rules() -> None:
    assert traits_of(None) == Traits()
    forced = traits_of(HuggingFaceRule(force_end=True, renormalise=True))
    assert (forced.forces_end, forced.renormalises, forced.length_offset) == (True, True, 0)
    marian = traits_of(MarianRule(unk_id=7))
    assert (marian.narrows, marian.unk_id, marian.at_limit) == (True, 7, "as it is")


def test_marians_limit_grows_with_the_source() -> None:
    assert MarianRule(1).token_limit(4) == 12
    assert MarianRule(1, 1.5).token_limit(3) == 5


def test_the_length_penalty_of_wu_et_al_by_hand() -> None:
    assert length_normalisation(1, 0.6, 5) == 1.0
    assert length_normalisation(7, 1.0, 5) == 2.0
    assert length_normalisation(19, 0.5, 5) == 2.0
    assert length_normalisation(100, 0.0, 5) == 1.0


def test_the_length_penalty_of_marian_and_transformers_by_hand() -> None:
    assert length_normalisation(1, 0.6, 0) == 1.0
    assert length_normalisation(7, 1.0, 0) == 7.0
    assert length_normalisation(16, 0.5, 0) == 4.0
    assert length_normalisation(100, 0.0, 0) == 1.0
