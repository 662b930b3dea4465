from __future__ import annotations

import torch

from model.decoding.hypothesis import SearchOptions
from model.decoding.limits import token_limits
from model.decoding.rules import HuggingFaceRule
from model.transformer.config import TransformerConfig

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
