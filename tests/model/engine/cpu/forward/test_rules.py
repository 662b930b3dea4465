from __future__ import annotations

import numpy as np
import pytest

from model.decoding.hypothesis import SearchOptions
from model.decoding.rules import HuggingFaceRule, MarianRule, Rule
from model.engine.cpu.forward.rules import (
    ENDED,
    NO_TOKEN,
    RULE,
    SETTLED,
    normalisation,
    rule_record,
)


@pytest.mark.parametrize("rule", [None, HuggingFaceRule(), MarianRule(3)], ids=str)
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 10.0])
def test_the_length_normalisation_is_the_references(alpha: float, rule: Rule | None) -> None:
    options = SearchOptions(length_penalty=alpha, rule=rule)
    record = np.array([rule_record(options)], RULE)
    for length in (1, 2, 50, 512):
        assert normalisation(length, record[0]) == np.float32(options.normalisation(length))


def test_a_record_holds_all_traits() -> None:
    rule = HuggingFaceRule("never", force_end=True, renormalise=True)
    record = np.array([rule_record(SearchOptions(length_penalty=0.5, rule=rule))], RULE)[0]
    assert record["alpha"] == 0.5
    assert (record["at_limit"], record["stopping"]) == (ENDED, SETTLED)
    assert (record["renormalises"], record["narrows"]) == (True, False)
    assert record["unk_id"] == NO_TOKEN
    assert np.array([rule_record(SearchOptions(rule=MarianRule(0)))], RULE)[0]["unk_id"] == 0
