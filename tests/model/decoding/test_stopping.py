from __future__ import annotations

from math import inf

import pytest
import torch

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, Rule
from model.decoding.stopping import unsettled

SETTLED, FULL, PRESENT = None, HuggingFaceRule(early_stopping=True), HuggingFaceRule()

NONE, ONE, TWO = (-inf, -inf), (-1.0, -inf), (-1.0, -2.0)
"""Finished hypotheses of a beam of 2."""


@pytest.mark.parametrize(
    ("rule", "finished", "now", "at_limit", "goes_on"),
    [
        # Nothing better can come once the first is as good as the best at the limit.
        (SETTLED, NONE, -9.0, -9.0, True),
        (SETTLED, ONE, -9.0, -0.5, True),
        (SETTLED, ONE, -9.0, -1.0, False),
        (SETTLED, TWO, -9.0, -0.5, True),
        (FULL, NONE, -9.0, -0.5, True),
        (FULL, ONE, -9.0, -0.5, True),
        (FULL, TWO, -0.1, -0.1, False),  # however good those are that are still searched
        (PRESENT, ONE, -9.0, -0.5, True),
        (PRESENT, TWO, -1.5, -0.5, True),
        (PRESENT, TWO, -2.0, -0.5, False),
        (PRESENT, TWO, -1.5, -1.0, False),
    ],
)
def test_when_a_search_goes_on(
    rule: Rule | None,
    finished: tuple[float, float],
    now: float,
    at_limit: float,
    goes_on: bool,
) -> None:
    options = SearchOptions(beam_size=2, rule=rule)
    found = unsettled(
        torch.tensor([finished]), torch.tensor([now]), torch.tensor([at_limit]), options
    )
    assert found.tolist() == [goes_on]


def test_all_that_is_wanted_must_be_better() -> None:
    finished, at_limit = torch.tensor([TWO, TWO]), torch.tensor([-1.5, -2.5])
    one, two = (SearchOptions(beam_size=2, n_best=n) for n in (1, 2))
    assert unsettled(finished, at_limit, at_limit, one).tolist() == [False, False]
    assert unsettled(finished, at_limit, at_limit, two).tolist() == [True, False]
