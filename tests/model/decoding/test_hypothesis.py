import math

import pytest

from model.decoding.constraints import Constraint, Wording
from model.decoding.hypothesis import (
    Hypothesis,
    SearchOptions,
    finished_hypothesis,
    outcome,
    outcome_of_rows,
)
from model.decoding.rules import HuggingFaceRule
from model.errors import NumericalError

EOS = 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, not 0"),
        ({"n_best": 0}, "n_best must be 1 … beam_size, not 0"),
        ({"beam_size": 2, "n_best": 3}, "n_best must be 1 … beam_size, not 3"),
        ({"length_penalty": -0.1}, "length_penalty must be 0 … 10, not -0.1"),
        ({"length_penalty": 10.5}, "length_penalty must be 0 … 10, not 10.5"),
        ({"length_penalty": math.nan}, "length_penalty must be 0 … 10, not nan"),
        ({"length_penalty": math.inf}, "length_penalty must be 0 … 10, not inf"),
        ({"max_target_tokens": 0}, "max_target_tokens must be at least 1, not 0"),
    ],
)
def test_bad_options_are_refused_by_name(changes: dict[str, float], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        SearchOptions(**changes)  # type: ignore[arg-type]


def test_defaults_are_the_papers() -> None:
    options = SearchOptions()
    assert (options.beam_size, options.length_penalty, options.n_best) == (4, 0.6, 1)


def test_a_finished_hypothesis_ends_before_the_end_token_and_scores_it() -> None:
    found = finished_hypothesis(
        [5, 6, EOS, 9], [-1.0, -2.0, -3.0, -9.0], EOS, SearchOptions(length_penalty=0.0)
    )
    assert found.ids == (5, 6)
    assert found.log_probs == (-1.0, -2.0, -3.0)
    assert found.score == -6.0
    assert not found.capped


def test_a_capped_hypothesis_keeps_all_its_tokens() -> None:
    found = finished_hypothesis([5] * 7, [-1.0] * 7, EOS, SearchOptions(length_penalty=1.0))
    assert found.ids == (5,) * 7
    assert found.score == -3.5
    assert found.capped


def test_the_rule_of_transformers_divides_by_the_length() -> None:
    options = SearchOptions(length_penalty=0.5, rule=HuggingFaceRule())
    assert options.normalisation(16) == 4.0
    found = finished_hypothesis([5, 6, 7, EOS], [-1.0] * 4, EOS, options)
    assert found == Hypothesis((5, 6, 7), (-1.0,) * 4, -2.0, capped=False)


def test_a_forced_end_is_not_scored_as_the_models() -> None:
    options = SearchOptions(length_penalty=1.0, rule=HuggingFaceRule(force_end=True))
    log_probs = [-1.0, -2.0, 0.0]
    found = finished_hypothesis([5, 6, EOS], log_probs, EOS, options, limit=3)
    assert found == Hypothesis((5, 6), (-1.0, -2.0), -1.0, capped=True)
    earlier = finished_hypothesis([5, EOS, 9], log_probs, EOS, options, limit=3)
    assert earlier == Hypothesis((5,), (-1.0, -2.0), -1.5, capped=False)
    alone = finished_hypothesis([EOS], [0.0], EOS, options, limit=1)
    assert alone == Hypothesis((), (0.0,), 0.0, capped=False)


def test_limits_leave_the_constraints_that_fit() -> None:
    terms = (Constraint((Wording((5, 6)),)), Constraint((Wording((7, 8)),)))
    limits = SearchOptions(2, max_target_tokens=4, constraints=terms).limits(9, 100)
    assert limits == (4, terms, 8)
    forced = HuggingFaceRule(force_end=True)
    options = SearchOptions(2, max_target_tokens=4, constraints=terms, rule=forced)
    assert options.limits(9, 100) == (4, terms[:1], 5)
    given = SearchOptions(2, max_target_tokens=4, constraints=terms, first_id=9)
    assert given.limits(9, 100) == (5, terms, 8)
    assert given.limits(9, 4) == (4, terms[:1], 5)
    assert SearchOptions(3).limits(9, 100) == (59, (), 3)


def test_an_outcome_needs_finite_scores() -> None:
    found = [Hypothesis((5,), (-1.0, -1.0), -1.0, capped=False)]
    assert outcome(found) is found
    failed = Hypothesis((5,), (math.nan,), math.nan, capped=False)
    for hypotheses in ([], [failed], [*found, failed]):
        error = outcome(hypotheses)
        assert isinstance(error, NumericalError)
        assert str(error) == "the model's output is not finite for this input"


def test_an_outcome_of_rows_is_sorted_with_capped_ones_last() -> None:
    rows = [([5, 6], [-0.1, -0.1]), ([5, EOS], [-2.0, -1.0]), ([EOS], [-1.0])]
    found = outcome_of_rows(rows, EOS, SearchOptions(), limit=2)
    assert isinstance(found, list)
    assert [one.ids for one in found] == [(), (5,), (5, 6)]
    assert isinstance(outcome_of_rows([], EOS, SearchOptions(), limit=2), NumericalError)
