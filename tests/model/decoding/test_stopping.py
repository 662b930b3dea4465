from math import inf

import pytest
import torch

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, Rule
from model.decoding.stopping import token_limits, unsettled
from model.transformer.config import TransformerConfig

SETTLED, FULL, PRESENT = None, HuggingFaceRule(early_stopping=True), HuggingFaceRule()

NONE, ONE, TWO = (-inf, -inf), (-1.0, -inf), (-1.0, -2.0)
"""Finished hypotheses of a beam of 2."""


@pytest.mark.parametrize(
    ("rule", "finished", "now", "at_limit", "continues"),
    [
        # No better one is possible once the first is as good as the best at the limit.
        (SETTLED, NONE, -9.0, -9.0, True),
        (SETTLED, ONE, -9.0, -0.5, True),
        (SETTLED, ONE, -9.0, -1.0, False),
        (SETTLED, TWO, -9.0, -0.5, True),
        (FULL, NONE, -9.0, -0.5, True),
        (FULL, ONE, -9.0, -0.5, True),
        (FULL, TWO, -0.1, -0.1, False),  # regardless of the live hypotheses
        (PRESENT, ONE, -9.0, -0.5, True),
        (PRESENT, TWO, -1.5, -0.5, True),
        (PRESENT, TWO, -2.0, -0.5, False),
        (PRESENT, TWO, -1.5, -1.0, False),
    ],
)
def test_when_a_search_continues(
    rule: Rule | None, finished: tuple[float, float], now: float, at_limit: float, continues: bool
) -> None:
    options = SearchOptions(beam_size=2, rule=rule)
    found = unsettled(
        torch.tensor([finished]), torch.tensor([now]), torch.tensor([at_limit]), options
    )
    assert found.tolist() == [continues]


def test_all_requested_hypotheses_must_be_better() -> None:
    finished, at_limit = torch.tensor([TWO, TWO]), torch.tensor([-1.5, -2.5])
    one, two = (SearchOptions(beam_size=2, n_best=n) for n in (1, 2))
    assert unsettled(finished, at_limit, at_limit, one).tolist() == [False, False]
    assert unsettled(finished, at_limit, at_limit, two).tolist() == [True, False]


SOURCE = torch.tensor([[5, 6, 7, 1], [5, 1, 0, 0]])


def test_the_default_is_source_tokens_plus_fifty() -> None:
    assert token_limits(SOURCE, TransformerConfig(), SearchOptions()).tolist() == [54, 52]


def test_a_cap_holds_for_every_sentence() -> None:
    options = SearchOptions(max_target_tokens=7)
    assert token_limits(SOURCE, TransformerConfig(), options).tolist() == [7, 7]


def test_no_limit_exceeds_what_the_model_has_positions_for() -> None:
    config = TransformerConfig(max_length=53)
    assert token_limits(SOURCE, config, SearchOptions()).tolist() == [53, 52]
    assert token_limits(SOURCE, config, SearchOptions(max_target_tokens=99)).tolist() == [53, 53]


def test_a_rule_may_bring_a_cap_that_a_search_may_lower() -> None:
    rule = HuggingFaceRule(max_target_tokens=9)
    config = TransformerConfig()
    assert token_limits(SOURCE, config, SearchOptions(rule=rule)).tolist() == [9, 9]
    options = SearchOptions(max_target_tokens=7, rule=rule)
    assert token_limits(SOURCE, config, options).tolist() == [7, 7]
    unlimited = SearchOptions(rule=HuggingFaceRule())
    assert token_limits(SOURCE, config, unlimited).tolist() == [54, 52]
